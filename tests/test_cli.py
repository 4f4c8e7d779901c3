"""``python -m fastml``: every command, its tables and its errors."""

import dataclasses
import io
import json
import sys

import numpy as np
import pytest

from fastml import _warmup
from fastml.__main__ import main
from fastml._cli import bench, demo_entries, machine, report, timing
from fastml._cli.case import FAMILIES, Case, cases
from fastml._cli.progress import Progress
from fastml._cli.table import markdown, number, plain, seconds
from tests.subprocesses import run_python

TINY = {"n": 400, "n_queries": 150, "k": 8}
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


def test_warmup_runs_the_family_and_shows_progress(capsys, monkeypatch):
    called = []
    family = {"toy": lambda: iter([("a step", lambda: called.append("toy"))])}
    monkeypatch.setattr(_warmup, "FAMILIES", {**family, "rest": lambda: iter([("x", None)])})
    assert main(["warmup", "--only", "toy"]) == 0
    captured = capsys.readouterr()
    assert called == ["toy"]
    assert "[1/1] toy: a step" in captured.err
    assert "0 kernels compiled" in captured.out


def test_warmup_of_an_unknown_family_names_the_known(capsys, monkeypatch):
    monkeypatch.setattr(_warmup, "FAMILIES", {"toy": lambda: iter(())})
    assert main(["warmup", "--only", "nothing"]) == 2
    assert "toy" in capsys.readouterr().err


def test_ctrl_c_ends_a_command_quietly(capsys, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_warmup, "warmup", interrupted)
    assert main(["warmup"]) == 130
    assert "stopped" in capsys.readouterr().err


# ------------------------------------------------------------------- bench


def toy_case(calls, **libraries):
    """A case whose libraries note their calls and whose result is their name's length."""

    def prepare(name):
        def setup(data):
            return lambda: calls.append(name) or len(name)

        return setup

    return Case(
        work="toy work of {n}",
        full={"n": 10},
        quick={"n": 5},
        build=lambda n: n,
        libraries={**{name: prepare(name) for name in ("fastml", "peer")}, **libraries},
        quality=lambda data, answer: data * answer,
        yardstick="points",
    )


def absent(data):
    raise ImportError("no such library")


def test_compare_warms_up_then_interleaves_and_turns_the_order():
    calls = []
    row = timing.compare(toy_case(calls), quick=False, peers=None, rounds=3, budget=60)
    assert calls == ["fastml", "peer", "fastml", "peer", "peer", "fastml", "fastml", "peer"]
    assert row["work"] == "toy work of 10"
    assert row["results"]["fastml"]["quality"] == 60
    assert row["results"]["peer"]["rounds"] == 3
    assert 0 < row["results"]["peer"]["best"] <= row["results"]["peer"]["median"]


def test_compare_stops_after_its_budget():
    row = timing.compare(toy_case([]), quick=True, peers=None, rounds=50, budget=0)
    assert row["results"]["peer"]["rounds"] == timing.MIN_ROUNDS


def test_compare_names_missing_peers_and_leaves_out_the_others():
    case = toy_case([], faiss=absent)
    row = timing.compare(case, quick=True, peers=None, rounds=1, budget=0)
    assert row["missing"] == ["faiss"]
    row = timing.compare(case, quick=True, peers={"faiss"}, rounds=1, budget=0)
    assert set(row["results"]) == {"fastml"}


def test_a_row_that_fastml_lacks_runs_no_peer():
    calls = []
    row = timing.compare(toy_case(calls, fastml=absent), quick=True, peers=None, rounds=1, budget=0)
    assert row["missing"] == ["fastml"]
    assert calls == []


@pytest.fixture
def toy_bench(monkeypatch):
    """The bench command over one toy family."""
    table = (toy_case([], faiss=absent),)
    monkeypatch.setattr(bench, "FAMILIES", ("toy",))
    monkeypatch.setattr(bench, "cases", lambda family: table)


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


ROWS = [(family, case) for family in FAMILIES for case in cases(family)]


@pytest.mark.parametrize(("family", "case"), ROWS, ids=[case.work for _, case in ROWS])
def test_every_row_runs_and_its_libraries_agree(family, case):
    quick = {name: TINY.get(name, value) for name, value in case.quick.items()}
    small = dataclasses.replace(case, quick=quick)
    peers = {"sklearn", "scipy", "numpy", "fastcluster", "kmedoids"}
    row = timing.compare(small, quick=True, peers=peers, rounds=1, budget=0)
    if "fastml" in row["missing"]:
        pytest.skip(f"not built yet: {case.work}")
    ours = row["results"].pop("fastml")["quality"]
    if not row["results"]:
        pytest.skip(f"none of its peers is installed: {case.work}")
    by_chance = "mean" in case.yardstick or "test" in case.yardstick  # of starts, trees, ties
    rtol, atol = (0.3, 0.1) if by_chance else (1e-3, 1e-6)
    for peer, result in row["results"].items():
        if case.yardstick == "MB":  # the size is what is compared
            assert ours < 0.3 * result["quality"], peer
            continue
        np.testing.assert_allclose(ours, result["quality"], rtol=rtol, atol=atol, err_msg=peer)
    if case.yardstick in ("recall", "found"):
        assert ours == 1.0


# ------------------------------------------------------------------- demo


@pytest.fixture
def small_demo(monkeypatch):
    entries = [
        dataclasses.replace(entry, data=lambda: demo_entries._blobs(500, 4, 5, spread=2.0))
        for entry in demo_entries.ENTRIES
    ]
    monkeypatch.setattr(demo_entries, "ENTRIES", entries)
    return [entry for entry in entries if entry.find("fastml") is not None]


def test_demo_trains_scores_and_draws(small_demo, tmp_path, capsys):
    output = tmp_path / "figure.png"
    assert main(["demo", "--output", str(output)]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert small_demo, "no family exists"
    for entry in small_demo:
        (line,) = (line for line in lines if line.startswith(entry.work))
        ours, theirs = line.removesuffix(entry.yardstick).split()[-2:]
        tolerance = 0.1 if "Forest" in entry.name else 1e-3  # other random trees
        assert float(ours) == pytest.approx(float(theirs), rel=tolerance)
        assert f"/{len(small_demo) + 1}] {entry.work}" in captured.err
    assert "functions compiled" in captured.out
    assert str(output) in captured.out
    assert output.read_bytes().startswith(PNG)


def test_demo_without_matplotlib_says_how_to_get_it(small_demo, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--output", str(tmp_path / "figure.png")]) == 0
    out = capsys.readouterr().out
    assert "pip install matplotlib" in out
    assert small_demo[0].work in out


def test_demo_checks_the_output_before_it_works(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "missing" / "figure.png")]) == 2
    assert "missing" in capsys.readouterr().err


def test_demo_leaves_out_what_does_not_exist():
    entry = dataclasses.replace(demo_entries.ENTRIES[0], name="NoSuchEstimator")
    assert entry.find("fastml") is None
    assert dataclasses.replace(entry, module="no_such_module").find("fastml") is None
