"""Distance matrices of named metrics and of functions."""
