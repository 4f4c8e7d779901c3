"""``python -m fastml.accelerate [options] script.py ...`` and ``... -m module ...``."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from fastml.accelerate._report import report
from fastml.accelerate._switch import VARIABLE, as_variable, install


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fastml.accelerate",
        description="Run a program with scikit-learn served by fastml.",
        usage="%(prog)s [--report] [--only NAMES] [--exclude NAMES] [--on-fallback MODE] "
        "(script.py | -m module) ...",
    )
    parser.add_argument("--report", action="store_true", help="afterwards, on stderr, what ran")
    parser.add_argument("--only", help="names to serve, separated by commas")
    parser.add_argument("--exclude", help="names not to serve")
    parser.add_argument("--on-fallback", choices=("silent", "warn", "raise"), default="silent")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    args = parse(sys.argv[1:] if argv is None else argv)
    install(only=args.only, exclude=args.exclude, on_fallback=args.on_fallback)
    os.environ[VARIABLE] = as_variable(args.only, args.exclude)  # for child processes
    sys.argv = [args.program, *args.arguments]
    try:
        if args.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(args.program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(args.program))
            runpy.run_path(args.program, run_name="__main__")
    finally:
        if args.report:
            sys.stderr.write(f"{report()}\n")


if __name__ == "__main__":
    main()
