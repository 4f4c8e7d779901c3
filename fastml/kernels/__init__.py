"""All jitted code. Arrays in, arrays out; imports NumPy, `fastml._jit` and other kernels only.

Kernels never raise and never check user input. Every file has a test of the same name in
``tests/kernels`` and a plain NumPy twin of each kernel in ``tests/naive.py``.
"""
