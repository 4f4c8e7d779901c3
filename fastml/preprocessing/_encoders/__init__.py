"""Encoders of categories: what they share, one-hot, ordinal, by the target."""
