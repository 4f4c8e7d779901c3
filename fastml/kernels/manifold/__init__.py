"""Embeddings: affinities, forces of t-SNE, stress of scaling, shortest paths."""
