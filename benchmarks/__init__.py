"""asv benchmarks: how the speed of fastml changes over time.

``asv run --python=same --quick`` runs each once in the environment at hand. ``FASTML_ASV_PROFILE``
is ``quick`` (small data, the default) or ``full``. `bench_cases` makes a class of every case in
``fastml/_cases``; `bench_start` measures cold starts.
"""
