"""Sparse matrices → what kernels read: one type, every index within the matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from fastml._engines.rows import DesignMatrix, csr_rows


def matrix(kind=sp.csr_array, index=np.int32):
    X = kind(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_one_type_for_every_index_type(kind, index):
    rows = csr_rows(matrix(kind, index))
    assert (rows.indices.dtype, rows.indptr.dtype) == (np.uint32, np.int64)
    np.testing.assert_array_equal(rows.data, [2, 1, 3])
    np.testing.assert_array_equal(rows.indices, [1, 0, 2])
    np.testing.assert_array_equal(rows.indptr, [0, 1, 3, 3])
    assert not any(part.flags.writeable for part in rows)


def test_values_and_32_bit_columns_are_not_copied():
    X = matrix()
    rows = csr_rows(X)
    assert np.shares_memory(rows.data, X.data)
    assert np.shares_memory(rows.indices, X.indices)


def test_columns_of_csc():
    X = matrix(sp.csc_array)
    assert csr_rows(X).indptr.tolist() == [0, 1, 2, 3]


def test_duplicates_are_summed_in_a_copy():
    X = sp.csr_array((np.ones(3), [2, 0, 2], [0, 3]), shape=(1, 3))
    rows = csr_rows(X)
    assert (rows.indices.tolist(), rows.data.tolist()) == ([0, 2], [1.0, 2.0])
    assert X.nnz == 3
    assert csr_rows(X, canonical=False).indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize("column", [3, 7, -1, 2**31 - 1])
def test_a_column_outside_the_matrix(column):
    X = matrix()
    X.indices[1] = column
    with pytest.raises(ValueError, match=f"3 columns, and a value in column {column}"):
        csr_rows(X, canonical=False)


@pytest.mark.parametrize("indptr", [[0, 1, 9, 9], [0, 2, 1, 3], [1, 1, 3, 3], [0, 1, 3]])
def test_damaged_row_starts(indptr):
    X = matrix()
    X.indptr = np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="damaged"):
        csr_rows(X, canonical=False)


def test_columns_beyond_32_bits():
    X = sp.csr_array((np.ones(1), np.array([5], dtype=np.int64), [0, 1]), shape=(1, 2**40))
    with pytest.raises(ValueError, match="less than 2\\*\\*31"):
        csr_rows(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_rows_and_columns_of_a_linear_model(container):
    X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    full = np.column_stack([X, [5.0, 5.0]])
    design = DesignMatrix(container(X), 5)
    columns = design.columns()
    assert (design.n_rows, design.n_features, design.rows.bias) == (2, 3, 5.0)
    assert columns.bias == 0.0  # the constant is a column of its own
    for rows, expected in ((design.rows, X), (columns, full.T)):
        if design.sparse:
            found = sp.csr_array(tuple(np.array(part) for part in rows[1:4]), expected.shape)
            np.testing.assert_array_equal(found.toarray(), expected)
            assert rows.X.size == 0
        else:
            np.testing.assert_array_equal(rows.X, expected)
            assert all(part.size == 0 for part in rows[1:4])
    np.testing.assert_allclose(design.squares(), (full**2).sum(axis=1))


@pytest.mark.parametrize("n_rows, n_features", [(1, 1), (1000, 3), (100_000, 2), (300, 5000)])
def test_chunks_cover_the_rows_and_their_sums_are_small(n_rows, n_features):
    design = DesignMatrix(np.ones((n_rows, n_features)), 1.0)
    n_chunks, rows_per_chunk = design.chunks()
    assert (n_chunks - 1) * rows_per_chunk < n_rows <= n_chunks * rows_per_chunk
    assert n_chunks == 1 or n_chunks * (n_features + 1) * 16 <= design.size
