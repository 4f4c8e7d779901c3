"""Plain NumPy twins of the kernels of embeddings."""

import numpy as np


def squares_between(A, B):
    return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)


def student_forces(Y, nu):
    """Σ_j w u (y_i - y_j) of every row, and Σ_{i≠j} w."""
    gaps = Y[:, None, :] - Y[None, :, :]
    u = 1.0 / (1.0 + (gaps**2).sum(axis=2) / nu)
    w = u ** (0.5 * (nu + 1.0))
    np.fill_diagonal(w, 0.0)
    return ((w * u)[:, :, None] * gaps).sum(axis=1), w.sum()


def pulls(P, Y, nu):
    """Σ_j p_ij u_ij (y_i - y_j) for a dense P."""
    gaps = Y[:, None, :] - Y[None, :, :]
    u = 1.0 / (1.0 + (gaps**2).sum(axis=2) / nu)
    return ((P * u)[:, :, None] * gaps).sum(axis=1)


def divergence(P, Y, nu):
    """KL(P‖Q) of t-SNE for a dense P."""
    w = (1.0 + squares_between(Y, Y) / nu) ** (-0.5 * (nu + 1.0))
    np.fill_diagonal(w, 0.0)
    Q = w / w.sum()
    stored = P > 0
    return float((P[stored] * np.log(P[stored] / Q[stored])).sum())


def quintic_splines(t):
    """The six quintic B-splines over a unit interval."""
    from scipy.interpolate import BSpline

    basis = BSpline.basis_element(np.arange(7.0), extrapolate=False)
    return np.nan_to_num(basis(t + np.arange(5.0, -1.0, -1.0)))


def sammon_sum(Y, targets, power):
    """Σ_{i<j} (d - ρ)² / ρ^power over pairs with ρ > 0."""
    distances = np.sqrt(squares_between(Y, Y))
    counted = np.triu(targets > 0, 1)
    return float(((distances - targets)[counted] ** 2 / targets[counted] ** power).sum())
