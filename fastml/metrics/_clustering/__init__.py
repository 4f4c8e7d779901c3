"""How good a clustering is."""
