"""`to_sklearn` and `from_sklearn`."""

from __future__ import annotations

from fastml.convert._counterparts._walk import Converter
from fastml.convert._errors import NotConvertible


def to_sklearn(model):
    """The same fitted model as scikit-learn's own estimator.

    It predicts, pickles and clones without fastml, so that ONNX converters, SHAP, other readers of
    scikit-learn's models and older serving code take it. Estimators inside of it (a pipeline's
    steps, the members of an ensemble) are converted too; what is scikit-learn's stays. Parameters
    of fastml that only `fit` reads are left out.

    Parameters
    ----------
    model : estimator
        Fitted or not, of fastml, or one of scikit-learn's that is made of such.

    Returns
    -------
    model : estimator
        With arrays of its own.

    Raises
    ------
    NotConvertible
        If scikit-learn has no such estimator, or one that predicts otherwise.

    See Also
    --------
    from_sklearn : The inverse.
    save : A file that only fastml reads.

    Examples
    --------
    >>> from fastml.cluster import KMeans
    >>> from fastml.convert import to_sklearn
    >>> model = to_sklearn(KMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]]))
    >>> type(model).__module__, sorted(model.cluster_centers_.ravel().tolist())
    ('sklearn.cluster._kmeans', [0.5, 9.5])
    """
    converter = Converter("fastml", "sklearn")
    made = converter.estimator(_checked(model), type(model).__name__)
    return made if converter.n_converted else model


def from_sklearn(model):
    """The same fitted model as fastml's estimator, predicting at our speed.

    Parts that fastml does not have (of a pipeline, of an ensemble) stay scikit-learn's.

    Parameters
    ----------
    model : estimator
        Of scikit-learn, fitted or not.

    Returns
    -------
    model : estimator
        With arrays of its own.

    Raises
    ------
    NotConvertible
        If there is nothing in it that fastml has.

    See Also
    --------
    to_sklearn : The inverse.

    Examples
    --------
    >>> from fastml.convert import from_sklearn
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["low", "high"])
    >>> from_sklearn(model).predict([[0.9]])
    array(['high'], dtype='<U4')
    """
    if type(_checked(model)).__module__.startswith("fastml."):
        return model
    converter = Converter("sklearn", "fastml")
    made = converter.estimator(model, type(model).__name__)
    if not converter.n_converted:
        raise NotConvertible(f"fastml has no {type(model).__name__}, nor any part of it")
    return made


def _checked(model):
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise TypeError(f"model must be an estimator, got {model!r}")
    return model
