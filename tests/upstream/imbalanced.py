"""imbalanced-learn's own tests of its samplers, with fastml's in their place.

python tests/upstream/imbalanced.py [pytest options]
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HOMES = {
    "over_sampling": ("ADASYN", "SMOTE", "SMOTENC", "BorderlineSMOTE", "RandomOverSampler"),
    "under_sampling": ("EditedNearestNeighbours", "RandomUnderSampler", "TomekLinks"),
}
FILES = (
    "over_sampling/tests/test_adasyn.py",
    "over_sampling/tests/test_random_over_sampler.py",
    "over_sampling/tests/test_common.py",
    "over_sampling/_smote/tests/test_smote.py",
    "over_sampling/_smote/tests/test_borderline_smote.py",
    "over_sampling/_smote/tests/test_smote_nc.py",
    "under_sampling/_prototype_selection/tests/test_random_under_sampler.py",
    "under_sampling/_prototype_selection/tests/test_tomek_links.py",
    "under_sampling/_prototype_selection/tests/test_edited_nearest_neighbours.py",
)

KNOWN = {  # what pytest's -k names it → why it does not hold
    "test_smotenc_categorical_encoder and not dropped": (
        "looks at the OneHotEncoder that imbalanced-learn makes; fastml numbers categories itself"
    ),
}


def main(options: list[str]) -> int:
    import imblearn
    import imblearn.over_sampling
    import imblearn.under_sampling

    import fastml.imbalance

    for module, names in HOMES.items():
        for name in names:
            setattr(getattr(imblearn, module), name, getattr(fastml.imbalance, name))
    folder = Path(imblearn.__file__).parent
    files = [str(folder / file) for file in FILES]
    left_out = " and ".join(f"not ({name})" for name in KNOWN)
    options = ["-k", left_out, *options]
    plain = ["-q", "-p", "no:cacheprovider", "-c", str(Path(__file__).parent / "pytest.ini")]
    return pytest.main([*plain, *options, *files])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
