"""Kernel machines: sequential minimal optimisation, kernel rows, sums over support vectors."""
