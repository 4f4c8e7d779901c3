"""Neighbours: the k nearest and those within a radius."""
