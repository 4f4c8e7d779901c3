"""Comparisons that know what may differ: ties among neighbours, names of clusters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def assert_bit_equal(actual, expected, where: str = "value"):
    """Arrays, numbers and containers of them: same type, shape and bits (NaN equals NaN)."""
    if isinstance(expected, dict):
        assert set(actual) == set(expected), f"{where}: keys differ"
        for key in expected:
            assert_bit_equal(actual[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected), f"{where}: lengths differ"
        for i, (a, b) in enumerate(zip(actual, expected)):
            assert_bit_equal(a, b, f"{where}[{i}]")
    elif isinstance(expected, np.ndarray) and expected.dtype == object:
        assert_bit_equal(list(actual), list(expected), where)
    elif isinstance(expected, np.ndarray | np.generic | float):
        a, b = np.asarray(actual), np.asarray(expected)
        assert a.dtype == b.dtype, f"{where}: {a.dtype} instead of {b.dtype}"
        assert a.shape == b.shape, f"{where}: shape {a.shape} instead of {b.shape}"
        if a.tobytes() != b.tobytes():
            np.testing.assert_array_equal(a, b, err_msg=where)
            zeros = (a == 0) & (b == 0)
            same_sign = np.signbit(a[zeros]) == np.signbit(b[zeros])
            assert same_sign.all(), f"{where}: zeros of another sign"
    else:
        assert actual == expected, f"{where}: {actual!r} instead of {expected!r}"


def assert_same_partition(labels, expected):
    """Labels are equal up to a renaming of the clusters; negative ones (noise) keep their name."""
    labels, expected = np.asarray(labels), np.asarray(expected)
    assert labels.shape == expected.shape, f"shape {labels.shape} instead of {expected.shape}"
    np.testing.assert_array_equal(labels[labels < 0], expected[labels < 0], err_msg="noise")
    np.testing.assert_array_equal(labels[expected < 0], expected[expected < 0], err_msg="noise")
    pairs = set(zip(labels.tolist(), expected.tolist()))
    for side, name in ((0, "label"), (1, "expected label")):
        partners: dict = {}
        for pair in pairs:
            partners.setdefault(pair[side], []).append(pair[1 - side])
        split = {label: sorted(others) for label, others in partners.items() if len(others) > 1}
        assert not split, f"{name} → labels of the other side: {split}"


def assert_same_neighbors(
    distances, indices, expected_distances, expected_indices, *, rtol=1e-6, atol=0.0
):
    """k-neighbour results are equal, except for the choice among equally distant points.

    Distances must agree within the tolerance. Within a group of tied distances the order is free;
    in the last group of a row, which the k-th place may cut, the members are free too (where that
    is too lenient, add `assert_true_neighbors`).
    """
    distances, indices = np.asarray(distances), np.asarray(indices)
    expected_distances = np.asarray(expected_distances)
    expected_indices = np.asarray(expected_indices)
    assert indices.shape == expected_indices.shape, "shapes of indices differ"
    assert np.issubdtype(indices.dtype, np.integer), f"indices are {indices.dtype}"
    np.testing.assert_allclose(
        distances, expected_distances, rtol=rtol, atol=atol, err_msg="distances"
    )
    assert (np.diff(distances, axis=1) >= 0).all(), "distances are not sorted"
    for row, (found, wanted, reach) in enumerate(
        zip(indices, expected_indices, expected_distances)
    ):
        assert len(set(found.tolist())) == len(found), f"row {row}: a neighbour comes twice"
        for start, stop in _tied_groups(reach, rtol, atol)[:-1]:
            assert set(found[start:stop]) == set(wanted[start:stop]), (
                f"row {row}, places {start} to {stop - 1}: {found[start:stop]} instead of "
                f"{wanted[start:stop]} at distance {reach[start]}"
            )


def assert_true_neighbors(distances, indices, all_distances, *, rtol=1e-6, atol=0.0):
    """Each reported distance is that of the reported point, and no nearer point was missed."""
    distances, indices = np.asarray(distances), np.asarray(indices)
    all_distances = np.asarray(all_distances)
    own = np.take_along_axis(all_distances, indices, axis=1)
    np.testing.assert_allclose(distances, own, rtol=rtol, atol=atol, err_msg="of these points")
    nearest = np.sort(all_distances, axis=1)[:, : indices.shape[1]]
    np.testing.assert_allclose(distances, nearest, rtol=rtol, atol=atol, err_msg="the nearest")
    for row, found in enumerate(indices):
        assert len(set(found.tolist())) == len(found), f"row {row}: a neighbour comes twice"


def assert_same_radius_neighbors(
    distances, indices, expected_distances, expected_indices, radius, *, rtol=1e-6, atol=0.0
):
    """Radius results are equal in any order, except for points at the radius itself."""
    assert len(indices) == len(expected_indices), "numbers of rows differ"
    slack = rtol * radius + atol
    for row in range(len(expected_indices)):
        found = dict(zip(np.asarray(indices[row]).tolist(), np.asarray(distances[row]).tolist()))
        wanted = dict(
            zip(
                np.asarray(expected_indices[row]).tolist(),
                np.asarray(expected_distances[row]).tolist(),
            )
        )
        assert len(found) == len(indices[row]), f"row {row}: a neighbour comes twice"
        assert len(distances[row]) == len(indices[row]), f"row {row}: lengths differ"
        for point in found.keys() ^ wanted.keys():
            reach = found.get(point, wanted.get(point))
            assert abs(reach - radius) <= slack, (
                f"row {row}: point {point} at {reach} is on one side only (radius {radius})"
            )
        for point in found.keys() & wanted.keys():
            np.testing.assert_allclose(
                found[point], wanted[point], rtol=rtol, atol=atol, err_msg=f"row {row}"
            )


def _tied_groups(sorted_values, rtol, atol):
    """(start, stop) of runs whose neighbouring values differ by no more than the tolerance."""
    if len(sorted_values) == 0:
        return []
    gap = np.diff(sorted_values) > atol + rtol * np.abs(sorted_values[1:])
    cuts = [0, *(np.flatnonzero(gap) + 1).tolist(), len(sorted_values)]
    return list(pairwise(cuts))
