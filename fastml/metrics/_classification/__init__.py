"""How well labels and probabilities are predicted."""
