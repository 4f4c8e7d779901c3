"""Parts are disjoint, have the sizes asked for and keep shares and groups."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import cross_val_score

from fastml.model_selection import BootstrapSplit, RandomLeavePOut, train_validation_test_split
from fastml.neighbors import KNeighborsClassifier

X = np.arange(200.0).reshape(100, 2)
Y = np.repeat([0, 1, 2], [60, 30, 10])


def test_bootstrap_leaves_out_what_it_did_not_draw():
    drawn = []
    for train, test in BootstrapSplit(200, random_state=0).split(X):
        assert len(train) == 100
        np.testing.assert_array_equal(np.setdiff1d(np.arange(100), train), test)
        drawn.append(1 - len(test) / 100)
    assert np.mean(drawn) == pytest.approx(1 - 1 / np.e, abs=0.01)
    assert BootstrapSplit(7).get_n_splits() == 7
    for _, test in BootstrapSplit(50, random_state=0).split([[0], [1]]):
        assert len(test) == 1, "two rows: a sample of both is drawn anew"
    groups = np.arange(100) // 10
    for train, test in BootstrapSplit(20, random_state=0).split(X, groups=groups):
        assert not set(groups[train]) & set(groups[test])
        assert len(train) == 100
    with pytest.raises(ValueError, match="at least 2 rows"):
        next(BootstrapSplit().split([[0]]))
    with pytest.raises(TypeError, match="n_splits"):
        BootstrapSplit(2.5)


def test_random_leave_p_out():
    seen = set()
    for train, test in RandomLeavePOut(3, 200, random_state=0).split(X[:6]):
        assert len(test) == 3
        assert sorted([*train, *test]) == list(range(6))
        seen.add(tuple(test))
    assert len(seen) == 20, "all choices of 3 in 6"
    scores = cross_val_score(KNeighborsClassifier(1), X, Y, cv=RandomLeavePOut(20, 5))
    assert len(scores) == 5
    with pytest.raises(ValueError, match="less than the number of rows"):
        next(RandomLeavePOut(6).split(X[:6]))


def test_three_parts_keep_shares_and_kinds():
    frame, matrix = pd.DataFrame(X, columns=["a", "b"]), csr_array(X)
    parts = train_validation_test_split(
        frame, matrix, Y, np.arange(100), stratify=Y, random_state=0
    )
    assert [len(p) for p in parts[6:9]] == [70, 10, 20]
    for labels, size in zip(parts[6:9], (70, 10, 20)):
        np.testing.assert_allclose(np.bincount(labels) / size, [0.6, 0.3, 0.1])
    assert sorted(np.concatenate(parts[9:])) == list(range(100))
    np.testing.assert_array_equal(parts[0]["a"], X[parts[9], 0])
    np.testing.assert_array_equal(parts[5].toarray(), X[parts[11]])
    again = train_validation_test_split(Y, stratify=Y, random_state=0)
    np.testing.assert_array_equal(again[0], parts[6])


@pytest.mark.parametrize("n", [12, 37, 100])
@pytest.mark.parametrize("seed", range(3))
def test_uneven_classes_are_in_every_part(n, seed):
    y = np.random.default_rng(seed).integers(3, size=n)
    y[:9] = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    parts = train_validation_test_split(
        y, np.arange(n), validation_size=0.25, test_size=0.25, stratify=y, random_state=seed
    )
    quarter = int(np.ceil(n / 4))
    assert [len(p) for p in parts[:3]] == [n - 2 * quarter, quarter, quarter]
    assert all(set(part) == {0, 1, 2} for part in parts[:3])
    assert sorted(np.concatenate(parts[3:])) == list(range(n))


def test_order_and_groups():
    parts = train_validation_test_split(np.arange(10), shuffle=False)
    assert [list(p) for p in parts] == [[0, 1, 2, 3, 4, 5, 6], [7], [8, 9]]
    groups = np.arange(100) // 5
    parts = train_validation_test_split(groups, groups=groups, random_state=0)
    sets = [set(p) for p in parts]
    assert [len(s) for s in sets] == [14, 2, 4]
    assert not (sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_size": 0.95}, "none of 100 rows"),
        ({"test_size": 1.5}, "share"),
        ({"validation_size": 0}, "empty"),
        ({"stratify": Y, "shuffle": False}, "shuffle=True"),
        ({"stratify": Y, "groups": Y}, "together"),
        ({"stratify": np.append(np.zeros(99), 1)}, "least class"),
        ({"groups": np.arange(100) % 2}, "three groups"),
    ],
)
def test_impossible_parts(options, message):
    with pytest.raises(ValueError, match=message):
        train_validation_test_split(X, **options)
