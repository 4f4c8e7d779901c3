"""How much memory a fit takes above X, as a share of X: the peak of a process of its own."""

import sys

import pytest

from tests.subprocesses import run_python

SHARES = {
    ("ols", "C"): 0.05,
    ("ridge", "C"): 0.05,
    ("ridge_cv", "C"): 0.3,
    ("path", "C"): 0.2,
    ("path", "F"): 0.2,
    ("lasso", "C"): 0.2,
    ("lasso", "F"): 0.2,
    ("sparse", "C"): 0.15,
    ("sparse", "F"): 0.15,
    ("net_cv", "C"): 0.35,
    ("poisson", "C"): 0.35,
    ("huber", "C"): 0.25,
    ("quantile", "C"): 0.4,  # vectors as long as X has rows, not more columns of them
    ("sgd", "C"): 0.15,
    ("summary", "C"): 0.35,
}
"""Most that the peak may lie above X; sparse X is CSR for "C" and CSC for "F"."""

MEASURE = """
import ctypes, gc, warnings
import numpy as np, scipy.sparse as sp
import fastml.linear_model as lm
from fastml._cases import linear_model as cases

def resident(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def size(X):
    return sum(a.nbytes for a in ((X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)))

def share(make, fit, n, d, order):
    data = make(n, d)
    if sp.issparse(data.X):
        data.X = data.X.tocsr() if order == "C" else data.X.tocsc()
    else:
        data.X = np.asarray(data.X, order=order)
    fit(data)  # loads kernels, and BLAS takes what it keeps
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    open("/proc/self/clear_refs", "w").write("5")  # the peak starts from here
    before = resident("VmRSS")
    fit(data)
    return (resident("VmHWM") - before) / size(data.X)

def counts(n, d):
    data = cases.rows(n, d)
    data.y = np.floor(np.exp(data.y / 5).clip(0, 50))
    return data

rows = cases.rows
work = dict(
    ols=(rows, lambda D: lm.LinearRegression().fit(D.X, D.y), 200_000, 20),
    ridge=(rows, lambda D: lm.Ridge().fit(D.X, D.y), 200_000, 20),
    ridge_cv=(rows, lambda D: lm.RidgeCV(alphas=cases.ALPHAS).fit(D.X, D.y), 20_000, 200),
    path=(cases.targets_first,
          lambda D: lm.lasso_path(D.X, D.y, alphas=30, eps=0.05), 1_000, 3_000),
    lasso=(rows, lambda D: lm.Lasso(alpha=0.2).fit(D.X, D.y), 1_000, 5_000),
    sparse=(cases.sparse_columns, lambda D: lm.Lasso(alpha=1e-3).fit(D.X, D.y), 100_000, 20_000),
    net_cv=(rows, lambda D: lm.ElasticNetCV(cv=5, alphas=20).fit(D.X, D.y), 10_000, 200),
    poisson=(counts, lambda D: lm.PoissonRegressor().fit(D.X, D.y), 200_000, 30),
    huber=(rows, lambda D: lm.HuberRegressor(max_iter=1000).fit(D.X, D.y), 50_000, 50),
    quantile=(rows, lambda D: lm.QuantileRegressor(alpha=0).fit(D.X, D.y), 20_000, 60),
    sgd=(rows, lambda D: lm.SGDRegressor(max_iter=2, tol=None, eta0=1e-3).fit(D.X, D.y),
         100_000, 50),
    summary=(cases.lines,
             lambda D: lm.summary(lm.LinearRegression().fit(D.X, D.y), D.X, D.y), 200_000, 30),
)
warnings.simplefilter("ignore")
for name, order in NAMES:
    print(name, order, share(*work[name], order))
"""


@pytest.fixture(scope="module")
def peaks():
    out = run_python(f"NAMES = {list(SHARES)}\n{MEASURE}", MALLOC_MMAP_THRESHOLD_=131072)
    lines = (line.split() for line in out.splitlines())
    return {(name, order): float(share) for name, order, share in lines}


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(("name", "order"), SHARES)
def test_the_peak_above_x_stays_below_its_share(peaks, name, order):
    assert peaks[name, order] < SHARES[name, order]
