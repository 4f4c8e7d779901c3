"""The commands of ``python -m fastml``: one file each, with ``add_arguments`` and ``run``.

A command's file loads nothing heavy before it runs, so ``--help`` is instant.
"""


class CommandError(Exception):
    """Something the user can put right; shown without a traceback, exit status 2."""
