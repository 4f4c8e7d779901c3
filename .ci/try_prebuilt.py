"""Build a platform wheel that carries the compiled kernels of one family, install it, count.

``try_prebuilt.py PYTHON`` of an environment that has what fastml depends on: the wheel replaces the
fastml that is there. With an empty cache nothing may be compiled; a warm-up brings native code, and
that serves from then on; with the files of the wheel damaged the answers must be the same. Run from
a checkout; it works on a copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FAMILY = "density"

PROBE = f"""
import numpy as np, fastml
from fastml import _jit, _warmup
from fastml.density import bandwidth_lscv
assert "site-packages" in fastml.__file__, fastml.__file__
answer = bandwidth_lscv(np.random.default_rng(0).normal(size=300))
_warmup._in_this_process(_warmup.steps({FAMILY!r}), None)
print(repr(float(answer)), _jit.statistics.compiled, _jit.statistics.prebuilt)
"""


WARM_UP = f"""
import fastml
print(fastml.warmup({FAMILY!r}))
"""


def run(*command, **settings):
    return subprocess.run(command, check=True, text=True, **settings)


def run_inside(python, cache, program):
    """What ``program`` prints in the environment of ``python``, by words."""
    environment = {**os.environ, "FASTML_CACHE_DIR": str(cache), "FASTML_QUIET": "1"}
    environment.pop("PYTHONPATH", None)
    cache.mkdir(parents=True, exist_ok=True)
    done = run(python, "-c", program, env=environment, cwd=cache.parent, stdout=subprocess.PIPE)
    return done.stdout.split()


def probe(python, cache):
    answer, compiled, prebuilt = run_inside(python, cache, PROBE)
    return answer, int(compiled), int(prebuilt)


def main(python):
    from llvmlite.binding import get_host_cpu_features

    sys.path.insert(0, str(ROOT))
    from fastml._prebuilt.levels import levels_of

    levels = [level.name for level in levels_of(get_host_cpu_features())]
    if not levels:
        sys.stdout.write("this CPU is of no level: nothing to try\n")
        return
    level = "x86-64-v3" if "x86-64-v3" in levels else levels[0]
    with tempfile.TemporaryDirectory() as scratch:
        tree, dist, cache = (Path(scratch, name) for name in ("tree", "dist", "cache"))
        shutil.copytree(ROOT / "fastml", tree / "fastml")
        for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "fastml_accelerate.pth"):
            shutil.copy(ROOT / name, tree)
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        prebuild = ("-m", "fastml", "prebuild", "--levels", level, "--only", FAMILY)
        run(sys.executable, *prebuild, env=environment, cwd=tree, stderr=subprocess.DEVNULL)
        run(sys.executable, "-m", "build", "--quiet", "--wheel", "--outdir", dist, tree)
        (wheel,) = dist.iterdir()
        assert "py3-none-any" not in wheel.name, wheel.name
        pip = (python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps")
        run(*pip, wheel)

        answer, compiled, prebuilt = probe(python, cache / "empty")
        assert compiled == 0, f"{compiled} functions were compiled"
        assert prebuilt > 0
        (native,) = run_inside(python, cache / "warm", WARM_UP)
        assert int(native) >= prebuilt, f"a warm-up compiled {native} functions"
        assert probe(python, cache / "warm")[1:] == (0, 0), "native code goes first"
        where = "import fastml; print(fastml.__path__[0])"
        folder = run(python, "-c", where, cwd=scratch, stdout=subprocess.PIPE).stdout.strip()
        for path in Path(folder, "_prebuilt").rglob("*.fml"):
            path.write_bytes(path.read_bytes()[:-9])
        again, compiled, _ = probe(python, cache / "also empty")
        assert again == answer
        assert compiled == prebuilt, f"{compiled} functions compiled, {prebuilt} were damaged"
        sys.stdout.write(
            f"{wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB: {prebuilt} functions loaded, "
            "none compiled; a warm-up replaced all; all damaged, all compiled\n"
        )


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).absolute()))
