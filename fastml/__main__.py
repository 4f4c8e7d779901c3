"""``python -m fastml demo | warmup | prebuild | bench | info | explore``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import fastml
from fastml._cli import CommandError, bench, demo, explore, info, prebuild, warmup

COMMANDS = (demo, warmup, prebuild, bench, info, explore)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("FASTML_QUIET", "1")  # commands say themselves when they compile
    try:
        status = options.run(options)
        print(end="", flush=True)
        return status
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more at its end
        return 141  # what a shell says of a process that SIGPIPE ended
    except CommandError as error:
        print(f"fastml {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"fastml {options.command}: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fastml", description="See what fastml can do.")
    parser.add_argument("--version", action="version", version=f"fastml {fastml.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        text = (command.__doc__ or "").strip()
        sub = commands.add_parser(name, help=text.splitlines()[0], description=text)
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
