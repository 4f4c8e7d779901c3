"""Linear support vector machines: coordinate descent, Newton's method."""
