"""Bagging: members of one kind on draws of rows and columns."""
