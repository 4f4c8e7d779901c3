"""All measures of predictions at once: what they are made of, their intervals, blocks of rows."""
