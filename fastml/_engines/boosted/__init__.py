"""Boosted trees: bins of the columns, stored and packed trees, sums over them."""
