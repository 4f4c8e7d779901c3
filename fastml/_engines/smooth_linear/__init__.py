"""Linear models with smooth losses: passes over rows, Newton's method, L-BFGS, Huber's scale."""
