"""Models between libraries, and in files that hold no code."""

from fastml.convert._file import load, save

__all__ = ["load", "save"]
