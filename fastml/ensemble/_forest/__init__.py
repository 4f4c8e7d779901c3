"""Forests of randomised trees."""
