"""Linear models of the squared loss: rows and their moments, penalties, solvers."""
