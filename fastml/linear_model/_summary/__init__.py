"""The statistical view of a fitted linear model.

``_design``: the columns, in p × p numbers; ``_family``: what the targets' distribution says;
``_sandwich``: errors that hold without equal variance; ``_checks``: tests of the assumptions;
``_result``: what users get; ``_table``: how it prints; ``_summary``: the function.
"""
