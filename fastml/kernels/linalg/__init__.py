"""Linear algebra that NumPy and SciPy lack."""
