"""Clustering: Lloyd's passes and their bounds, seeding, medians, medoids, DBSCAN, hierarchies."""
