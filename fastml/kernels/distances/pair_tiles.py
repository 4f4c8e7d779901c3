"""Cutting a matrix of pairs into square tiles, and writing finished tiles.

A symmetric matrix is cut into the tiles of its upper triangle only; each is written twice.
"""

from fastml._jit import kernel


@kernel
def tile_count(n_rows, n_columns, size, symmetric):
    """Number of tiles of ``size`` rows and columns that a matrix is cut into."""
    down = (n_rows + size - 1) // size
    across = (n_columns + size - 1) // size
    if symmetric:
        return down * (down + 1) // 2
    return down * across


@kernel
def tile_corner(c, n_columns, size, symmetric):
    """First row and first column of tile number c."""
    across = (n_columns + size - 1) // size
    if not symmetric:
        return c // across * size, c % across * size
    row = 0
    left = c
    while left >= across - row:
        left -= across - row
        row += 1
    return row * size, (row + left) * size


@kernel
def make_symmetric(tile, n, zero_diagonal):
    """Copy the upper triangle of ``tile[:n, :n]`` onto the lower one; maybe clear its diagonal."""
    for i in range(n):
        for j in range(i + 1, n):
            tile[j, i] = tile[i, j]
        if zero_diagonal:
            tile[i, i] = 0.0


@kernel
def store_tile(tile, i0, i1, j0, j1, mirrored, out):
    """Write ``tile`` to rows i0..i1, columns j0..j1 of ``out``, and its mirror image if asked."""
    for i in range(i0, i1):
        for j in range(j0, j1):
            out[i, j] = tile[i - i0, j - j0]
    if not mirrored:
        return
    # In small blocks: a whole column of the tile would fall out of the cache.
    for top in range(i0, i1, 16):
        bottom = min(top + 16, i1)
        for left in range(j0, j1, 8):
            for j in range(left, min(left + 8, j1)):
                for i in range(top, bottom):
                    out[j, i] = tile[i - i0, j - j0]
