"""Kernel matrices of kernel methods, whole or by rows."""
