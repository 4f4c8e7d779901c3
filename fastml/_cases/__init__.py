"""One declaration per piece of work, from which every measurement derives.

``python -m fastml bench``, ``warmup`` and ``demo``, asv, pytest-benchmark and the tests that try
every estimator read it. A file without underscore is a family, named as a public module: it has
``CASES``, a tuple of `Case`, and perhaps ``odd_branches()``, calls that only warm-up needs.
"""
