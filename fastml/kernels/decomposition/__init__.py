"""Products of sparse rows with blocks of columns."""
