"""Embeddings of rows in few dimensions, and how good they are."""

from fastml.manifold._affinities import perplexity
from fastml.manifold._classical_mds import ClassicalMDS
from fastml.manifold._isomap import Isomap
from fastml.manifold._locally_linear import LocallyLinearEmbedding, locally_linear_embedding
from fastml.manifold._mds import MDS, smacof
from fastml.manifold._measures import (
    Procrustes,
    neighborhood_preservation,
    procrustes,
    trustworthiness,
)
from fastml.manifold._sammon import SammonMapping
from fastml.manifold._sne import SNE
from fastml.manifold._spectral_embedding import SpectralEmbedding, spectral_embedding
from fastml.manifold._tsne import TSNE

__all__ = [
    "MDS",
    "SNE",
    "TSNE",
    "ClassicalMDS",
    "Isomap",
    "LocallyLinearEmbedding",
    "Procrustes",
    "SammonMapping",
    "SpectralEmbedding",
    "locally_linear_embedding",
    "neighborhood_preservation",
    "perplexity",
    "procrustes",
    "smacof",
    "spectral_embedding",
    "trustworthiness",
]
