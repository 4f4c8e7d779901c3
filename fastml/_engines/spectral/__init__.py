"""Leading eigenvectors and singular vectors: blocks of rows, their scatter, solvers, signs."""
