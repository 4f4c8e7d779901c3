"""asv benchmarks: how the speed of fastml changes over time.

``asv run --python=same --quick`` runs each once in the environment at hand. ``FASTML_ASV_PROFILE``
is ``quick`` (small data, the default) or ``full``. A class built from the mixins in `common` says
what the data and the estimator are; what is measured follows.
"""
