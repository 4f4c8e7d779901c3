"""Decision trees: growth, the grown tree, pruning."""
