"""Scores: silhouettes and contingency tables of clusterings; residuals, labels, ranked scores."""
