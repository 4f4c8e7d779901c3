"""The page of `describe`, as a browser shows it."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from fastml.__main__ import main
from fastml.explore import describe

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECTIONS = ("facts", "overview", "columns", "places", "correlations", "target", "two-factors")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 300
    flag = rng.random(n) < 0.4
    return {
        "a <b> & \"c\"": rng.normal(size=n), "wait": rng.gamma(2.0, size=n),
        "city": rng.choice(["Ulm", "Bern", "<script>alert(1)</script>"], n), "flag": flag,
        "day": np.datetime64("2024-01-01") + rng.integers(0, 500, n).astype("timedelta64[D]"),
        "lat": rng.uniform(40, 50, n), "lon": rng.uniform(5, 15, n),
        "y": rng.normal(size=n) + 2.0 * flag,
    }  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    pytest.skip(f"no browser here: none of {', '.join(BROWSERS)} is on the path")


def look(browser, page, folder, *options) -> subprocess.CompletedProcess:
    """Open the page without a window; its console goes to stderr."""
    return subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}", *options,
         page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip


@pytest.mark.parametrize("target", ["y", "flag"])
def test_in_a_browser(browser, table, tmp_path, target):
    page = tmp_path / "page.html"
    found = describe(table, target)
    found.to_html(page, title="A test")
    shown = look(browser, page, tmp_path, "--dump-dom")
    dom = shown.stdout
    for section in SECTIONS:
        assert f'<section id="{section}"' in dom, section
    for kind in ("histogram", "box", "bars", "scatter", "boxes", "matrix"):
        assert f'<svg class="plot {kind}"' in dom, kind
    assert dom.count("data-column=") == len(table)
    assert dom.count("data-beside=") == len(table) - 1
    assert 'class="density"' in dom
    assert ('class="regression"' in dom) == (target == "y")
    assert "<script" not in dom
    assert "NaN" not in dom
    assert "CONSOLE" not in shown.stderr, "errors and warnings of the page"
    picture = tmp_path / "page.png"
    look(browser, page, tmp_path, f"--screenshot={picture}", "--window-size=1240,5200")
    seen = pytest.importorskip("matplotlib.image").imread(picture)[..., :3]
    assert seen.shape[:2] == (5200, 1240)
    for colour in ("8fb0d9", "d9752f", "c6d7ec"):  # bars, density and lines, boxes
        rgb = np.array([int(colour[k : k + 2], 16) for k in (0, 2, 4)]) / 255.0
        drawn = (np.abs(seen - rgb).max(axis=2) < 0.01).sum()
        assert drawn > 100, colour


def test_page_needs_nothing_else(table, tmp_path):
    text = describe(table, "y").to_html()
    assert not re.search(r"(src|href)=|url\(|@import|<link", text)
    with (tmp_path / "page.html").open("w", encoding="utf-8") as stream:
        assert describe(table, "y").to_html(stream) == text
    assert "<table>" in describe(table)._repr_html_()


def test_command(tmp_path, capsys):
    pytest.importorskip("pandas")
    file, page = tmp_path / "table.csv", tmp_path / "page.html"
    file.write_text("a,b\n1.5,u\n2.5,v\n3.5,u\n")
    assert main(["explore", str(file), "-o", str(page), "-t", "a"]) == 0
    assert "<svg" in page.read_text(encoding="utf-8")
    assert main(["explore", str(file)]) == 0
    assert "3 rows, 2 columns" in capsys.readouterr().out
    for wrong in ([str(file), "-t", "c"], [str(tmp_path / "no.csv")], [str(tmp_path / "no.xls")]):
        assert main(["explore", *wrong]) == 2
