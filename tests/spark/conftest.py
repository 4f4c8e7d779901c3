"""One session of Spark for all tests here: two slots, four attempts."""

import os
import stat
import sys

import pytest


@pytest.fixture(scope="session")
def spark(request):
    if "spark" not in request.config.option.markexpr:
        pytest.skip("starts Java, which plain pytest must not need: `pytest -m spark`")
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        sql.SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.daemon.module", "fastml.spark.daemon")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def other_python(spark, tmp_path, monkeypatch):
    """Workers of another Python: begun by a shell script whose first lines are given."""

    def use(lines: str) -> None:
        path = tmp_path / "python"
        path.write_text(f'#!/bin/sh\n{lines}\nexec "{sys.executable}" "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(path))

    return use
