"""scikit-learn's own classes and functions, served by fastml.

Switched on, ``sklearn.cluster.KMeans`` stays the class that it is, and its methods run on fastml
where fastml has them with equal behaviour; all else runs on scikit-learn, call by call. `report`
says what ran, `supported` what can. Ways to switch it on::

    python -m fastml.accelerate [--report] script.py ...     # or -m module
    %load_ext fastml.accelerate                              # in IPython and Jupyter
    fastml.accelerate.install()                              # uninstall() undoes it
    with fastml.accelerate.enabled(): ...
    FASTML_ACCELERATE=1 some-program                         # also its child processes

Pickles made meanwhile are scikit-learn's own objects and need no fastml.
"""

from __future__ import annotations

from typing import Any

from fastml.accelerate._names import names
from fastml.accelerate._report import FallbackError, FallbackWarning, report
from fastml.accelerate._supported import Support, supported
from fastml.accelerate._switch import enabled, install, is_on, uninstall

__all__ = [
    "FallbackError",
    "FallbackWarning",
    "Support",
    "enabled",
    "install",
    "is_on",
    "names",
    "ran",
    "report",
    "supported",
    "uninstall",
]


def ran(model: Any) -> str:
    """What stands behind a model of scikit-learn: ``"fastml"`` or ``"scikit-learn"``.

    Parameters
    ----------
    model : estimator
        A model of scikit-learn.

    Returns
    -------
    library : str
        ``"fastml"`` if fastml fitted or took over the model and will do its next call.
    """
    if not is_on():
        return "scikit-learn"
    from fastml.accelerate._estimators import ran

    return ran(model)


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext fastml.accelerate``."""
    install()


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext fastml.accelerate``."""
    uninstall()
