"""How well scores put positives before negatives, labels before others, documents in order."""
