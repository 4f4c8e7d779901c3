"""What a conversion says where it cannot be made."""

from __future__ import annotations


class NotConvertible(TypeError):
    """No equivalent exists; says why.

    Parameters
    ----------
    message : str, default=""
        What stands in the way, by name.

    Examples
    --------
    >>> from fastml.convert import NotConvertible, to_sklearn
    >>> from fastml.svm import SVC
    >>> try:
    ...     to_sklearn(SVC(normalize=True))
    ... except NotConvertible as error:
    ...     print(error)
    SVC: scikit-learn has no parameter normalize, which is True here
    """

    def __init__(self, message: str = ""):
        super().__init__(message)
