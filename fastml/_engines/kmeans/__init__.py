"""k-means: rows as its loops see them, starting centres, Lloyd's iteration."""
