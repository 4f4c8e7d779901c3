"""Losses with their gradients and hessians, value by value."""
