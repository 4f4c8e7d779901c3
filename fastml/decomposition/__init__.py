"""Principal components and other factors of a matrix, as in scikit-learn."""

from fastml.decomposition._factor_analysis import FactorAnalysis
from fastml.decomposition._incremental_pca import IncrementalPCA
from fastml.decomposition._kernel_pca import KernelPCA
from fastml.decomposition._pca import PCA
from fastml.decomposition._truncated_svd import TruncatedSVD

__all__ = ["PCA", "FactorAnalysis", "IncrementalPCA", "KernelPCA", "TruncatedSVD"]
