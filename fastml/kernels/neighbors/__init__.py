"""Nearest neighbours and neighbours within a radius: brute force, kd-trees, ball trees, votes."""
