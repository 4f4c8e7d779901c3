"""Decision trees: presorted columns, splits, growth, prediction, pruning, stumps."""
