"""Statistics of rows by class, and scores of classes that they make."""
