"""k-means and its variants."""
