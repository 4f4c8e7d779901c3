"""Random forests: coded columns, splits, growth, prediction, quantiles; isolation trees."""
