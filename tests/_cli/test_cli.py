"""``python -m fastml``: every command, its tables and its errors."""

import dataclasses
import io
import json
import os
import re
import sys
import tomllib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from fastml import _cli, _warmup
from fastml.__main__ import main
from fastml._cases._case import FAMILIES, Case, Quality, cases, family_of, sizes
from fastml._cli import bench, demo, machine, report, timing
from fastml._cli.progress import Progress
from fastml._cli.table import markdown, number, plain, seconds
from tests.subprocesses import run_python, start_python

ROOT = Path(__file__).parents[2]

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """`main` sets it for good; undo that after each test."""
    monkeypatch.setenv("FASTML_QUIET", "1")


# ------------------------------------------------------------------- text


def test_plain_table_aligns_text_left_and_numbers_right():
    text = plain(("work", "time"), [("a", "1 s"), ("longer", "10 s")])
    assert text.splitlines() == [
        "work    time",
        "------  ----",
        "a        1 s",
        "longer  10 s",
    ]


def test_markdown_table():
    assert (
        markdown(("work", "time"), [("a", "1 s")]) == "| work | time |\n| --- | --: |\n| a | 1 s |"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (123.4, "123 s"),
        (1.234, "1.23 s"),
        (0.0456, "45.6 ms"),
        (1.2e-5, "12.0 µs"),
        (0.0, "0.00 µs"),
    ],
)
def test_seconds(value, text):
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.98765, "0.9877"),
        (0, "0"),
        (1.0, "1"),
        (3.6e-15, "3.6e-15"),
        (749157.2, "749,157"),
        (1.749e6, "1.749e+06"),
        (-2.5, "-2.5"),
    ],
)
def test_number(value, text):
    assert number(value) == text


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_redraws_one_line_on_a_terminal_and_clears_it():
    stream = Terminal()
    progress = Progress(stream)
    progress("first", 0, 2)
    progress("second", 1, 2)
    progress.finish()
    text = stream.getvalue()
    assert "\n" not in text
    assert text.endswith("\r\x1b[K")
    assert "1/2 second" in text


def test_progress_prints_plain_lines_elsewhere():
    stream = io.StringIO()
    progress = Progress(stream)
    progress("first", 0, 2)
    progress("second", 1, 2)
    progress.finish()
    assert stream.getvalue() == "[1/2] first\n[2/2] second\n"


def test_progress_estimates_the_time_left():
    stream, clock = io.StringIO(), iter(range(0, 1000, 10))
    progress = Progress(stream, lambda: next(clock))
    for done in range(40, 50):  # forty were done before
        progress("step", done, 60)
    lines = stream.getvalue().splitlines()
    assert lines[1] == "[42/60] step", "too early to tell"
    assert lines[2] == "[43/60, 3 min left] step"  # two of twenty in 20 s: 180 s
    assert lines[9] == "[50/60, 2 min left] step"  # nine in 90 s: 110 s
    short = Progress(stream, iter((0.0, 6.0)).__next__)
    short("a", 0, 9)
    short("b", 3, 9)
    assert stream.getvalue().endswith("[4/9, 12 s left] b\n")


# ------------------------------------------------------------------- help, info, warmup


def test_help_loads_nothing_heavy():
    out = run_python(
        """
        import sys
        from fastml.__main__ import main
        try:
            main(["bench", "--help"])
        except SystemExit as done:
            assert done.code == 0
        print("heavy:", sorted({"numba", "numpy", "sklearn", "matplotlib"} & set(sys.modules)))
        """
    )
    assert "--peers" in out
    assert "heavy: []" in out


def test_no_command_is_an_error_that_shows_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_info_names_what_decides_the_speed(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    for word in ("numba", "sklearn", "threading layer", "used by default", "folder", "SIMD"):
        assert word in out
    assert f"fastml                 {machine.versions()['fastml']}" in out
    assert all(f"\n  {name} " in out for name in FAMILIES)


def test_info_says_where_kernels_come_from(tmp_path):
    code = """
        import json, pathlib
        from fastml import _jit
        from fastml._prebuilt import levels
        from fastml.__main__ import main
        level = levels.Level("any", "generic", ())
        levels.LEVELS, levels.FOLDER = {"any": level}, pathlib.Path({folder!r})
        main(["info"])
        levels.write(level, _jit.build(), [], {})
        _jit.prebuilt_shelves.cache_clear()
        main(["info"])
    """
    code = code.replace("{folder!r}", repr(str(tmp_path / "package")))
    before, after = run_python(code, FASTML_CACHE_DIR=tmp_path).split("versions\n")[1:]
    assert "kernels come from      the folder, then the compiler" in before
    assert "native code adds" not in before
    assert "kernels come from      the folder, then prebuilt any, then the compiler" in after
    (line,) = (line for line in after.splitlines() if "native code adds" in line)
    assert "instruction sets" in line
    assert "tuned for" in line
    widest = re.search(r"widest vectors +(\d+) bits", after).group(1)
    assert (f"vectors of up to {widest} bits, not 128" in line) == (int(widest) > 128)
    code = "from fastml.__main__ import main; main(['info'])"
    assert "Python: NUMBA_DISABLE_JIT" in run_python(code, NUMBA_DISABLE_JIT=1)


@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
def test_a_reader_that_has_seen_enough_is_no_error():
    """As in ``python -m fastml info | head -3``."""
    process = start_python("import sys; from fastml.__main__ import main; sys.exit(main(['info']))")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 141


def test_info_counts_the_cache(tmp_path):
    code = """
        from fastml._jit import cache_folder
        from fastml.__main__ import main
        cache_folder().mkdir(parents=True)
        (cache_folder() / "a.fml").write_bytes(b"x" * 2_000_000)
        (cache_folder().parent / "other").mkdir()
        (cache_folder().parent / "other" / "b.fml").write_bytes(b"x" * 1_000_000)
        (cache_folder().parent / "unrelated").mkdir()
        main(["info"])
    """
    out = run_python(code, FASTML_CACHE_DIR=tmp_path)
    assert "1 files, 2.0 MB" in out
    assert "1 folders, 1.0 MB" in out


def test_info_without_a_cache():
    out = run_python("from fastml.__main__ import main; main(['info'])", FASTML_NO_CACHE="1")
    assert "FASTML_NO_CACHE" in out


def test_processor_name_comes_from_the_system(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nmodel name\t: Some CPU\nmodel name\t: Some CPU\n")
    assert machine.processor(listing) == "Some CPU"
    assert machine.processor(tmp_path / "absent")


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        (["toy"], ["a", "b"]),
        (["--only", "toy"], ["a", "b"]),
        (["--only", "toy.A"], ["a"]),
        (["--only", "toy.A,rest"], ["a", "a", "b"]),
        (["toy", "--dtype", "float32"], ["b"]),
        ([], ["a", "b", "a", "b"]),
    ],
)
def test_warmup_runs_what_is_asked_for_and_shows_progress(capsys, monkeypatch, arguments, called):
    found = []

    def calls(family):
        for what, dtype in (("a", "float64"), ("b", "float32")):
            yield _warmup.Step(
                family, f"{family}.{what.upper()}", what, dtype, partial(found.append, what)
            )

    monkeypatch.setattr(_warmup, "FAMILIES", ("toy", "rest"))
    monkeypatch.setattr(_warmup, "_calls", calls)
    assert main(["warmup", *arguments, "--jobs", "1"]) == 0
    captured = capsys.readouterr()
    assert found == called
    assert f"[1/{len(called)}] toy: {called[0]}" in captured.err
    assert "0 kernels compiled" in captured.out


@pytest.mark.parametrize("command", ["bench", "demo"])
def test_an_unknown_family_is_an_error_that_names_the_known(capsys, command):
    assert main([command, "nothing"]) == 2
    assert ", ".join(FAMILIES) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["warmup", "nothing"], repr(FAMILIES[0])),
        (["warmup", "--only", "cluster.Nothing"], "cluster.KMeans"),
        (["warmup", "--dtype", "int"], "float32"),
        (["prebuild", "--levels", "x86-64-v9"], "x86-64-v3"),
        (["prebuild", "--only", "nothing"], repr(FAMILIES[0])),
    ],
)
def test_what_cannot_be_compiled_is_an_error_that_names_the_known(capsys, command, message):
    assert main(command) == 2
    assert message in capsys.readouterr().err


def test_ctrl_c_ends_a_command_quietly(capsys, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(_warmup, "warmup", interrupted)
    assert main(["warmup"]) == 130
    assert "stopped" in capsys.readouterr().err


# ------------------------------------------------------------------- bench


def toy_case(calls, better="more", **peers):
    """A case whose libraries note their calls and whose answer is their name's length."""

    def prepare(name):
        return lambda data: lambda: calls.append(name) or len(name)

    class Toy(Case):
        def prepare(self, library, data):
            return {"fastml": prepare("fastml"), **self.peers}[library](data)

    return Toy(
        id="toy",
        path="toy.work",
        work="toy work of {n}",
        data=lambda n: SimpleNamespace(),
        sizes=sizes(n=(1, 5, 10)),
        quality=Quality("points", lambda data, answer: data.n * answer, better),
        peers={"peer": prepare("peer"), **peers},
        headline=True,
    )


def absent(data):
    raise ImportError("no such library")


def missing(case):
    """The case in a version of fastml that lacks it."""
    return dataclasses.replace(case, peers={**case.peers, "fastml": absent})


def test_compare_warms_up_then_interleaves_and_turns_the_order():
    calls = []
    row = timing.compare(toy_case(calls), size="full", peers=None, rounds=3, budget=60)
    assert calls == ["fastml", "peer", "fastml", "peer", "peer", "fastml", "fastml", "peer"]
    assert row["work"] == "toy work of 10"
    assert row["results"]["fastml"]["quality"] == 60
    assert row["results"]["peer"]["rounds"] == 3
    assert 0 < row["results"]["peer"]["best"] <= row["results"]["peer"]["median"]


def test_compare_stops_after_its_budget():
    row = timing.compare(toy_case([]), size="quick", peers=None, rounds=50, budget=0)
    assert row["results"]["peer"]["rounds"] == timing.MIN_ROUNDS
    row = timing.compare(toy_case([]), size="quick", peers=None, rounds=50, budget=0, least=1)
    assert row["results"]["peer"]["rounds"] == 1


def test_compare_names_missing_peers_and_leaves_out_the_others():
    case = toy_case([], faiss=absent)
    row = timing.compare(case, size="quick", peers=None, rounds=1, budget=0)
    assert row["missing"] == ["faiss"]
    row = timing.compare(case, size="quick", peers={"faiss"}, rounds=1, budget=0)
    assert set(row["results"]) == {"fastml"}


def test_a_row_that_fastml_lacks_runs_no_peer():
    calls = []
    row = timing.compare(missing(toy_case(calls)), size="quick", peers=None, rounds=1, budget=0)
    assert row["missing"] == ["fastml"]
    assert calls == []


@pytest.fixture
def toy_bench(monkeypatch):
    """The bench command over one toy family."""
    table = (toy_case([], faiss=absent),)
    monkeypatch.setattr(_cli, "FAMILIES", ("toy",))
    monkeypatch.setattr(bench, "cases", lambda family=None: table)


@pytest.mark.parametrize(
    ("better", "wins"), [("more", True), ("less", False), ("same", False), ("error", False)]
)
def test_a_faster_library_with_a_worse_answer_does_not_win(monkeypatch, better, wins):
    """fastml's answer is 6 points, the peer's 4: right for "more" only."""
    clock = iter([0.0, 1.0, 1.0, 3.0] * 9)
    monkeypatch.setattr(timing, "_once", lambda call: (-next(clock) + next(clock), call()))
    row = timing.compare(toy_case([], better), size="quick", peers=None, rounds=1, budget=9)
    found = {"rows": [row]}
    assert row["results"]["peer"]["comparable"] is wins
    shown = report.ratio(row["results"]["fastml"], row["results"]["peer"], "**")
    assert shown == ("**0.50**" if wins else "(0.50) quality differs")
    assert shown.replace("*", "") in report.as_text(found)
    expected = "1 of 1 rows" if wins else "0 of 0 rows; 1 not counted: quality differs"
    assert report.summary(found) == f"fastml is the fastest in {expected}"


def test_quality_is_compared_by_its_kind():
    def good(value, other, size="full", library="fastml", **fields):
        return Quality("q", len, **fields).as_good(value, other, size, library)

    assert good(1.01, 1.0, better="less", tolerance=0.02)
    assert not good(1.03, 1.0, better="less", tolerance=0.02)
    assert good(0.5, 1.0, better="less")
    assert not good(0.5, 1.0, better="more")
    assert not good(0.5, 1.0)
    assert good(-1.001, -1.0, tolerance=0.01)
    assert good(1.2, 1.0, "tiny", better="less", tolerance=0.0, tiny=0.3)
    assert not good(1.2, 1.0, better="less", tolerance=0.0, tiny=0.3)
    assert good(0.05, 0.0, tolerance=0.1, scale=1.0)
    assert good(1e-9, 1e-15, better="error", tolerance=1e-8)
    assert not good(1e-4, 1e-4, better="error", tolerance=1e-8)
    assert good(1e-4, 1e-9, library="mlpack", better="error", peers={"mlpack": 1e-3})


def test_bench_prints_saves_and_draws(toy_bench, tmp_path, capsys):
    stored, figure = tmp_path / "report.json", tmp_path / "chart.png"
    assert main(["bench", "--quick", "--json", str(stored), "--figure", str(figure)]) == 0
    out = capsys.readouterr().out
    assert "toy work of 5" in out
    assert "30 points" in out  # fastml's quality
    assert "missing: faiss (pip install faiss-cpu)" in out
    assert figure.read_bytes().startswith(PNG)
    found = json.loads(stored.read_text())
    assert found["machine"]["processor"]
    assert found["versions"]["numba"]
    assert set(found["rows"][0]["results"]) == {"fastml", "peer"}


def test_readme_section_is_rewritten_from_a_stored_report(toy_bench, tmp_path, capsys):
    stored, readme = tmp_path / "report.json", tmp_path / "README.md"
    main(["bench", "--json", str(stored)])
    readme.write_text(f"before\n{report.START}\nold\n{report.END}\nafter\n")
    for _ in range(2):  # a second time changes nothing
        assert main(["bench", "--from", str(stored), "--readme", str(readme)]) == 0
    text = readme.read_text()
    assert text.startswith(f"before\n{report.START}\n| work |")
    assert text.endswith(f"{report.END}\nafter\n")
    assert "old" not in text
    assert "toy work of 10" in text
    assert machine.processor() in text
    assert text.count("| work |") == 1
    found = json.loads(stored.read_text())
    found["rows"][0]["headline"] = False
    stored.write_text(json.dumps(found))
    page = tmp_path / "speed.md"
    page.write_text(readme.read_text())
    arguments = ["--from", str(stored), "--readme", str(readme), "--page", str(page)]
    assert main(["bench", *arguments]) == 0
    assert "toy work" not in readme.read_text(), "a row without headline is for the page only"
    assert "toy work of 10" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there are toy"),
        (["--peers", "nothing"], "there are faiss, peer"),
        (["--rows", "nothing"], "'nothing'"),
        (["--from", "/no/such/file"], "holds no report"),
        (["--readme", "/no/such/file"], "/no/such/file"),
    ],
)
def test_bench_errors_say_what_is_allowed(toy_bench, capsys, arguments, message):
    assert main(["bench", "--quick", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_readme_without_markers_is_left_alone(toy_bench, tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text("no markers")
    assert main(["bench", "--quick", "--readme", str(readme)]) == 2
    assert readme.read_text() == "no markers"
    assert report.START in capsys.readouterr().err


def test_bench_without_matplotlib_still_prints(toy_bench, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["bench", "--quick", "--figure", str(tmp_path / "chart.png")]) == 0
    assert "pip install matplotlib" in capsys.readouterr().out


def test_rows_without_peers_are_measured_on_demand(monkeypatch, capsys):
    alone = dataclasses.replace(toy_case([]), peers={}, work="lonely work")
    monkeypatch.setattr(bench, "cases", lambda family=None: (toy_case([]), alone))
    assert main(["bench", "--quick"]) == 0
    assert "lonely" not in capsys.readouterr().out
    assert main(["bench", "--quick", "--all"]) == 0
    assert "lonely work" in capsys.readouterr().out


NOT_SHOWN = {
    "blocks",
    "convert",
    "explore",
    "feature_selection",
    "imbalance",
    "impute",
    "information",
    "inspection",
    "losses",
    "mapreduce",
    "model_selection",
    "optimize",
    "outliers",
    "penalties",
    "preprocessing",
}
"""Families of functions without a model of their own: no panel of the demo, no headline."""


def test_ten_rows_for_the_readme():
    chosen = [case for case in cases() if case.headline]
    assert len(chosen) == 10
    assert all(case.peers for case in chosen)
    left_out = {"decomposition", "discriminant_analysis", "kernel_ridge", "manifold", "naive_bayes"}
    families = set(FAMILIES) - left_out - NOT_SHOWN
    assert {family_of(case) for case in chosen} >= families


# ------------------------------------------------------------------- demo


def test_demo_has_one_case_of_every_family():
    shown = [case for case in cases() if case.draw is not None]
    assert [family_of(case) for case in shown] == [f for f in FAMILIES if f not in NOT_SHOWN]
    assert all("sklearn" in case.peers for case in shown)


@pytest.fixture
def one_family_ahead(monkeypatch):
    """Processes compile ahead for one family; CI runs the whole demo as a step of its own."""
    demo_steps = _warmup.demo_steps
    monkeypatch.setattr(_warmup, "demo_steps", lambda family=None: demo_steps("neighbors"))


@pytest.fixture
def small_demo(monkeypatch, one_family_ahead):
    """The demo on tiny data."""
    small = [
        dataclasses.replace(case, sizes={**case.sizes, "quick": case.sizes["tiny"]})
        for case in cases()
        if case.draw is not None
    ]
    monkeypatch.setattr(demo, "cases", lambda family=None: small)
    return small


def test_demo_trains_scores_and_draws(small_demo, tmp_path, capsys):
    output = tmp_path / "figure.png"
    assert main(["demo", "--output", str(output)]) == 0
    captured = capsys.readouterr()
    for case in small_demo:
        work = case.title("tiny")
        (line,) = (
            line for line in captured.out.splitlines()
            if line.startswith(work) and line.endswith(case.quality.name)
        )  # fmt: skip
        ours, theirs = map(
            float, line.removesuffix(case.quality.name).replace(",", "").split()[-2:]
        )
        assert case.quality.as_good(ours, theirs, "tiny")
        step = rf"/{len(small_demo) + 1}(, [^]]+ left)?\] {re.escape(work)}"
        assert re.search(step, captured.err)
        assert f"{work}: " in captured.out.partition("fastml's score")[0], "shown when it was ready"
    assert "functions compiled" in captured.out
    assert str(output) in captured.out
    assert output.read_bytes().startswith(PNG)


def test_demo_without_matplotlib_says_how_to_get_it(
    toy_bench, one_family_ahead, tmp_path, capsys, monkeypatch
):
    case = toy_case([], sklearn=lambda data: lambda: 6)
    drawn = dataclasses.replace(case, draw=lambda axes, thing: None)
    monkeypatch.setattr(demo, "cases", lambda family=None: [drawn])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--output", str(tmp_path / "figure.png")]) == 0
    out = capsys.readouterr().out
    assert "pip install matplotlib" in out
    assert "toy work of 5" in out


def test_demo_checks_the_output_before_it_works(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "missing" / "figure.png")]) == 2
    assert "missing" in capsys.readouterr().err


def test_the_readme_installs_what_the_demo_draws_with():
    text = (ROOT / "README.md").read_text()
    (command,) = re.findall(r"^pip install (.*) && python -m fastml demo$", text, re.MULTILINE)
    extra = re.fullmatch(r'"\.\[(\w+)\]"', command).group(1)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"][extra]
    assert any(line.startswith("matplotlib") for line in wanted)
