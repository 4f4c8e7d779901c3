"""The commands of ``python -m fastml``: one file each, with ``add_arguments`` and ``run``.

A command's file loads nothing heavy before it runs, so ``--help`` is instant.
"""

from fastml._cases._case import FAMILIES


class CommandError(Exception):
    """Something the user can put right; shown without a traceback, exit status 2."""


def check_family(name: str | None) -> None:
    """None means all families."""
    if name is not None and name not in FAMILIES:
        raise CommandError(f"no family {name!r}; there are {', '.join(FAMILIES)}")
