"""Looking at data: types, missing values, quantiles, outliers, correlations, tests, one page.

Tables of pandas, polars, Arrow and NumPy, or a dictionary of columns. Every column is sorted or
hashed once, to its distinct values and their counts; all that is said of it comes from them.
"""

from fastml.explore._describe import describe, one_factor, two_factor

__all__ = ["describe", "one_factor", "two_factor"]
