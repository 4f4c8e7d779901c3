"""Compiled kernels that come inside a platform wheel: ``<platform>/<level>/``, see `levels`."""
