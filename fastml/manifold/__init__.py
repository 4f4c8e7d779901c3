"""Embeddings of rows in few dimensions."""

from fastml.manifold._affinities import perplexity
from fastml.manifold._tsne import TSNE

__all__ = ["TSNE", "perplexity"]
