"""The assertions accept what they should and, above all, refuse what they should."""

import assertions
import numpy as np
import pytest

pytestmark = pytest.mark.small


def refuses(assertion, *args, **kwargs):
    with pytest.raises(AssertionError):
        assertion(*args, **kwargs)


# ---------------------------------------------------------------------------- bits


@pytest.mark.parametrize(
    "value",
    [
        np.array([1.0, np.nan, -0.0]),
        np.float32(0.1),
        0.1,
        {"a": [np.arange(3), "name", None]},
        np.array([np.arange(2), np.arange(3.0)], dtype=object),
    ],
)
def test_bit_equal_accepts_itself(value):
    assertions.assert_bit_equal(value, value)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.array([1.0]), np.array([1.0 + 2**-52])),
        (np.array([0.0]), np.array([-0.0])),
        (np.array([1.0]), np.array([1.0], dtype=np.float32)),
        (np.array([1.0]), np.array([[1.0]])),
        (np.array([np.nan]), np.array([1.0])),
        (0.1, 0.1 + 2**-55),
        ({"a": 1}, {"b": 1}),
        ([np.arange(3)], [np.arange(3), np.arange(3)]),
        ({"a": [np.arange(3)]}, {"a": [np.arange(1, 4)]}),
        ("x", "y"),
        (
            np.array([np.arange(2), np.arange(3)], dtype=object),
            np.array([np.arange(2), np.arange(1, 4)], dtype=object),
        ),
    ],
)
def test_bit_equal_refuses(actual, expected):
    refuses(assertions.assert_bit_equal, actual, expected)


# ---------------------------------------------------------------------------- partitions


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 0, 1, 2], [0, 0, 1, 2]),
        ([2, 2, 0, 1], [0, 0, 1, 2]),
        ([1, -1, 0], [0, -1, 1]),
        ([], []),
    ],
)
def test_same_partition_accepts(labels, expected):
    assertions.assert_same_partition(labels, expected)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 0, 0, 1], [0, 0, 1, 2]),  # merged
        ([0, 1, 2, 3], [0, 0, 1, 2]),  # split
        ([0, 1, 1, 2], [0, 0, 1, 2]),  # moved
        ([0, 0], [0, 0, 0]),
        ([1, 1, 0], [-1, -1, 0]),  # noise is not a cluster
        ([-1, 0], [0, -1]),
    ],
)
def test_same_partition_refuses(labels, expected):
    refuses(assertions.assert_same_partition, labels, expected)


# ---------------------------------------------------------------------------- neighbours

DISTANCES = np.array([[0.0, 1.0, 1.0, 2.0]])
INDICES = np.array([[4, 7, 2, 9]])


@pytest.mark.parametrize("indices", [[4, 7, 2, 9], [4, 2, 7, 9], [4, 2, 7, 8]])
def test_same_neighbors_accepts(indices):
    assertions.assert_same_neighbors(DISTANCES * (1 + 1e-9), [indices], DISTANCES, INDICES)


@pytest.mark.parametrize(
    ("distances", "indices"),
    [
        ([0, 1, 1, 2.1], [4, 7, 2, 9]),  # another distance
        ([0, 1, 1, 2], [5, 7, 2, 9]),  # another nearest point
        ([0, 1, 1, 2], [7, 4, 2, 9]),  # order across groups
        ([0, 1, 1, 2], [4, 7, 7, 9]),  # twice
        ([0, 1, 1, 2], [4, 7, 3, 9]),  # a tie that the k-th place does not cut
        ([0, 1, 1, 2], [4.0, 7, 2, 9]),  # not integers
        ([0, 1, 1], [4, 7, 2]),  # too few
    ],
)
def test_same_neighbors_refuses(distances, indices):
    refuses(
        assertions.assert_same_neighbors,
        np.array([distances], dtype=float),
        np.array([indices]),
        DISTANCES,
        INDICES,
    )


def test_same_neighbors_refuses_unsorted():
    """Within the tolerance of the values, but falling."""
    distances = DISTANCES + np.array([[0, 1e-8, 0, 0]])
    refuses(assertions.assert_same_neighbors, distances, INDICES, DISTANCES, INDICES)


ALL = np.array([[3.0, 1.0, 2.0, 1.0]])


@pytest.mark.parametrize("indices", [[1, 3], [3, 1]])
def test_true_neighbors_accepts(indices):
    assertions.assert_true_neighbors([[1.0, 1.0]], [indices], ALL)


@pytest.mark.parametrize(
    ("distances", "indices"),
    [([1.0, 2.0], [1, 2]), ([1.0, 1.0], [1, 2]), ([1.0, 1.0], [1, 1]), ([1.0, 1.1], [1, 3])],
)
def test_true_neighbors_refuses(distances, indices):
    refuses(assertions.assert_true_neighbors, [distances], [indices], ALL)


@pytest.mark.parametrize(
    ("distances", "indices"),
    [([0.5, 1.0], [3, 5]), ([1.0, 0.5], [5, 3]), ([0.5], [3]), ([0.5, 1.0, 1.0], [3, 5, 6])],
)
def test_same_radius_neighbors_accepts(distances, indices):
    assertions.assert_same_radius_neighbors(
        [distances], [indices], [np.array([0.5, 1.0])], [np.array([3, 5])], 1.0
    )


@pytest.mark.parametrize(
    ("distances", "indices"),
    [
        ([1.0], [5]),  # an inner point is missing
        ([0.5, 1.0, 0.7], [3, 5, 6]),  # one too many
        ([0.6, 1.0], [3, 5]),  # another distance
        ([0.5, 0.5, 1.0], [3, 3, 5]),  # twice
        ([0.5], [3, 5]),
    ],
)
def test_same_radius_neighbors_refuses(distances, indices):
    refuses(
        assertions.assert_same_radius_neighbors,
        [distances],
        [indices],
        [np.array([0.5, 1.0])],
        [np.array([3, 5])],
        1.0,
    )


def test_same_radius_neighbors_refuses_other_rows():
    refuses(assertions.assert_same_radius_neighbors, [], [], [np.zeros(0)], [np.zeros(0)], 1.0)
