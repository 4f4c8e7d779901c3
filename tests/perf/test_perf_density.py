"""Kernel densities and kernel regression beside SciPy, scikit-learn, mlpack and NumPy."""

import numpy as np
import pytest

from fastml._cli.cases_density import CASES


def _rows():
    for case in CASES:
        for name in case.libraries:
            yield pytest.param(case, name, id=f"{case.work.split(',')[0]}-{case.full}-{name}")


@pytest.mark.parametrize("case, library", list(_rows()), indirect=["library"])
def test_density(measure, size, case, library):
    """The rows of ``python -m fastml bench density``; every library gives the same answer."""
    sizes = size(small=case.quick, full=case.full)
    sizes = {k: v if k == "d" else max(v // size(small=5, full=1), 100) for k, v in sizes.items()}
    data = case.build(**sizes)
    quality = case.quality(data, measure(case.libraries[library](data)))
    if case.yardstick == "max error of log":
        assert quality < (1e-3 if library == "mlpack" else 1e-8)
    else:
        assert np.isfinite(quality)
        assert quality > 0.0
