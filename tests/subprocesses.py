"""Run Python code in a fresh process, as tests of caches, forks and threading layers must."""

import os
import subprocess
import sys
import textwrap


def environment(**changes):
    """This process's environment with changes; None removes a variable."""
    env = {**os.environ, "FASTML_QUIET": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def start_python(code, **env):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process, timeout=300):
    """Its stdout and stderr; fails with both if it did not exit cleanly."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"hung for {timeout} s\n{out}\n{err}") from None
    assert process.returncode == 0, f"exit code {process.returncode}\n{out}\n{err}"
    return out, err


def run_python(code, timeout=300, **env):
    """Standard output of ``code`` run in a fresh process."""
    return finish(start_python(code, **env), timeout)[0]
