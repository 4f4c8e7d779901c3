"""Fitted estimators of fastml and scikit-learn, each made from the other's attributes."""
