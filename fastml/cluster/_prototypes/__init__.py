"""Clusters around medians, medoids, directions; soft clusters; BFR."""
