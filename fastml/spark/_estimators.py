"""Estimators, with pyspark's names for their parameters."""

from __future__ import annotations

import numpy as np

from fastml.blocks import Blocks, fit
from fastml.preprocessing import StandardScaler as LocalScaler
from fastml.spark import _models, _tables
from fastml.spark._base import FrameEstimator
from fastml.spark._scaled import scaled
from fastml.spark._tables import NAIVE_BAYES_TYPES, parameters_of


class _Sums:
    """Of the rows' weights and their squares; without weights each is 1."""

    def __init__(self, blocks: Blocks):
        self.weights = self.squares = float(blocks.n_rows)
        if blocks.has_weights:
            # Files of blocks are mapped: only the weights are read.
            each = (np.asarray(block.weights) for block in blocks)
            found = np.array([[w.sum(), w @ w] for w in each])
            self.weights, self.squares = found.sum(axis=0).tolist()

    @property
    def unbiased(self) -> float:
        """By what a mean square deviation is multiplied, as in pyspark.ml."""
        free = self.weights - self.squares / self.weights
        return self.weights / free if free > 0 else 1.0


class _Penalised(FrameEstimator):
    """Linear models: the penalty is of the weights of standardised features, if so wished."""

    def _fitted(self, blocks, executor):
        penalty, share = self._value("regParam"), self._value("elasticNetParam")
        if not penalty >= 0 or not 0 <= share <= 1:
            raise ValueError(
                "regParam must be at least 0 and elasticNetParam from 0 to 1, got "
                f"{penalty} and {share}"
            )
        sums = _Sums(blocks)
        model = self._penalised(penalty, share, sums, blocks)
        if not penalty or not self._value("standardization"):
            return fit(model, blocks, executor)
        spreads = np.sqrt(fit(LocalScaler(), blocks, executor).var_ * self._correction(sums))
        spreads[spreads == 0.0] = 1.0
        found = fit(model, scaled(blocks, 1.0 / spreads), executor)
        found.coef_ = found.coef_ / spreads
        return found


class KMeans(FrameEstimator, table=_tables.KMEANS):
    r"""k-means on a DataFrame: `fastml.cluster.KMeans` with pyspark's parameters.

    .. math:: \min_{\mu} \sum_i w_i \min_j \|x_i - \mu_j\|^2

    ``tol`` is scikit-learn's: of the squared move of all centres, relative to the variance.
    ``init`` takes centres to begin with.

    Examples
    --------
    >>> from fastml.spark import KMeans
    >>> estimator = KMeans(k=8, featuresCol=["a", "b"], maxIter=10)
    >>> estimator.getK()
    8
    >>> def groups(frame):  # with a session of Spark
    ...     return estimator.fit(frame).transform(frame)
    """

    model = _models.KMeansModel

    def _unfitted(self, blocks):
        return self._made(0, n_init=1, **self._given_to_local())


class GaussianMixture(FrameEstimator, table=_tables.GAUSSIAN_MIXTURE):
    r"""A mixture of normal densities: `fastml.mixture.GaussianMixture` with pyspark's parameters.

    .. math:: p(x) = \sum_j \pi_j \, N(x; \mu_j, \Sigma_j)

    ``tol`` is of the logarithm of the likelihood of all rows, as in pyspark.ml.

    Examples
    --------
    >>> from fastml.spark import GaussianMixture
    >>> GaussianMixture(n_components=3).getK()
    3
    """

    model = _models.GaussianMixtureModel

    def _unfitted(self, blocks):
        given = self._given_to_local()
        return self._made(0, **{**given, "tol": given["tol"] / _Sums(blocks).weights})


class LinearRegression(_Penalised, table=_tables.LINEAR_REGRESSION):
    r"""Least squares, ridge or elastic net, by ``regParam`` λ and ``elasticNetParam`` α.

    .. math:: \min_{w, b} \frac{1}{2 \sum_i u_i} \sum_i u_i (y_i - w^\top x_i - b)^2
              + \lambda (\alpha \|w\|_1 + \tfrac{1 - \alpha}{2} \|w\|_2^2)

    The penalty is that of pyspark.ml: the square is divided by the deviation of the target and,
    with ``standardization``, the weights are those of features with deviation 1. The solution
    comes from one pass over the rows, so ``solver`` says nothing; ``tol`` belongs to the lasso.

    Examples
    --------
    >>> from fastml.spark import LinearRegression
    >>> LinearRegression(regParam=0.1, elasticNetParam=0.5).getRegParam()
    0.1
    """

    model = _models.LinearRegressionModel

    def _correction(self, sums):
        return 1.0

    def _penalised(self, penalty, share, sums, blocks):
        given = self._given_to_local()
        given["max_iter"] = max(1000, given["max_iter"])
        of_squares = penalty * (1.0 - share)
        if of_squares:
            of_squares /= _deviation_of_target(blocks, sums)
        if penalty == 0.0:
            which, strength = 0, {}
        elif share == 0.0:
            which, strength = 1, {"alpha": of_squares * sums.weights}
        else:
            total = of_squares + penalty * share
            which, strength = 2, {"alpha": total, "l1_ratio": penalty * share / total}
        known = parameters_of(self.table.local_classes()[which])
        return self._made(which, **{n: v for n, v in given.items() if n in known}, **strength)


def _deviation_of_target(blocks, sums) -> float:
    """1 if it is 0."""
    first = second = 0.0
    for block in blocks:
        y = np.asarray(block.y, dtype=np.float64)
        w = np.ones(len(y)) if block.weights is None else block.weights
        first, second = first + float(w @ y), second + float(w @ y**2)
    mean = first / sums.weights
    return float(np.sqrt(max(second / sums.weights - mean**2, 0.0))) or 1.0


class LogisticRegression(_Penalised, table=_tables.LOGISTIC_REGRESSION):
    r"""Classes by linear margins: `fastml.linear_model.LogisticRegression`, pyspark's parameters.

    .. math:: \min_w \frac{1}{\sum_i u_i} \sum_i u_i \log(1 + e^{-y_i w^\top x_i})
              + \lambda (\alpha \|w\|_1 + \tfrac{1 - \alpha}{2} \|w\|_2^2)

    with λ = ``regParam`` and α = ``elasticNetParam``; the softmax for several classes. ``C``, if
    given, takes the place of λ. With ``standardization`` the penalty is of the weights of features
    with deviation 1. ``threshold`` is what the second class's probability must exceed.

    Examples
    --------
    >>> from fastml.spark import LogisticRegression
    >>> LogisticRegression(max_iter=50, threshold=0.3).getMaxIter()
    50
    """

    model = _models.LogisticRegressionModel

    def _correction(self, sums):
        return sums.unbiased

    def _penalised(self, penalty, share, sums, blocks):
        strength = {"C": 1.0 / (penalty * sums.weights) if penalty else np.inf}
        if share and penalty:
            strength.update(l1_ratio=share, solver="saga")
        return self._made(0, **{**self._given_to_local(), **strength})


class RandomForestClassifier(FrameEstimator, table=_tables.FOREST_CLASSIFIER):
    r"""A forest of trees: `fastml.ensemble.RandomForestClassifier` with pyspark's parameters.

    .. math:: p(c \mid x) = \frac{1}{T} \sum_t p_t(c \mid x)

    Examples
    --------
    >>> from fastml.spark import RandomForestClassifier
    >>> RandomForestClassifier(n_estimators=50).getNumTrees()
    50
    """

    model = _models.RandomForestClassificationModel


class RandomForestRegressor(FrameEstimator, table=_tables.FOREST_REGRESSOR):
    r"""A forest of trees: `fastml.ensemble.RandomForestRegressor` with pyspark's parameters.

    .. math:: f(x) = \frac{1}{T} \sum_t f_t(x)

    Examples
    --------
    >>> from fastml.spark import RandomForestRegressor
    >>> RandomForestRegressor().getFeatureSubsetStrategy()
    'auto'
    """

    model = _models.RandomForestRegressionModel


class _Boosting(FrameEstimator):
    def _unfitted(self, blocks):
        given = {"max_leaf_nodes": None, "early_stopping": False, **self._given_to_local()}
        given["max_bins"] = min(given["max_bins"], 255)
        return self._made(0, **given)


class GBTClassifier(_Boosting, table=_tables.GBT_CLASSIFIER):
    r"""Boosted trees: `fastml.ensemble.HistGradientBoostingClassifier`, pyspark's parameters.

    .. math:: F_m = F_{m-1} + \eta \, t_m, \quad t_m \text{ fitted to } -\partial L / \partial F

    Several classes are allowed, which pyspark.ml's own does not take. Bins are 255 at most.

    Examples
    --------
    >>> from fastml.spark import GBTClassifier
    >>> GBTClassifier(maxIter=50, stepSize=0.2).getStepSize()
    0.2
    """

    model = _models.GBTClassificationModel


class GBTRegressor(_Boosting, table=_tables.GBT_REGRESSOR):
    r"""Boosted trees: `fastml.ensemble.HistGradientBoostingRegressor` with pyspark's parameters.

    .. math:: F_m = F_{m-1} + \eta \, t_m, \quad t_m \text{ fitted to } y - F_{m-1}

    Examples
    --------
    >>> from fastml.spark import GBTRegressor
    >>> GBTRegressor(max_depth=3).getMaxDepth()
    3
    """

    model = _models.GBTRegressionModel


class PCA(FrameEstimator, table=_tables.PRINCIPAL_COMPONENTS):
    r"""Directions of the greatest variance: `fastml.decomposition.PCA` with pyspark's parameters.

    .. math:: X^\top X / n - \bar x \bar x^\top = V \Lambda V^\top

    Examples
    --------
    >>> from fastml.spark import PCA
    >>> PCA(k=2, inputCol="features", outputCol="z").getK()
    2
    """

    model = _models.PCAModel


class StandardScaler(FrameEstimator, table=_tables.SCALER):
    r"""Features divided by their deviations: `fastml.preprocessing.StandardScaler`.

    .. math:: z = (x - \bar x) / s, \quad s^2 = \tfrac{1}{n - 1} \sum_i (x_i - \bar x)^2

    The mean is taken off only if ``withMean``; constant features stay as they are.

    Examples
    --------
    >>> from fastml.spark import StandardScaler
    >>> StandardScaler(withMean=True, inputCol="features").getWithStd()
    True
    """

    model = _models.StandardScalerModel

    def _fitted(self, blocks, executor):
        sums = _Sums(blocks)
        found = fit(LocalScaler(), blocks, executor)
        found.set_params(with_mean=self._value("withMean"), with_std=self._value("withStd"))
        found.var_ = found.var_ * sums.unbiased
        found.scale_ = np.where(found.var_ == 0.0, 1.0, np.sqrt(found.var_))
        return found


class NaiveBayes(FrameEstimator, table=_tables.NAIVE_BAYES):
    r"""Naive Bayes of counts, of yes and no, or of normal features, by ``modelType``.

    .. math:: p(c \mid x) \propto \pi_c \prod_j p(x_j \mid c)

    ``smoothing`` is added to the counts of features; those of classes stay as they are.

    Examples
    --------
    >>> from fastml.spark import NaiveBayes
    >>> NaiveBayes(modelType="gaussian").getSmoothing()
    1.0
    """

    model = _models.NaiveBayesModel

    def _unfitted(self, blocks):
        given, kind = self._given_to_local(), self._value("modelType")
        which = list(NAIVE_BAYES_TYPES).index(kind)
        return self._made(which, **({} if kind == "gaussian" else given))
