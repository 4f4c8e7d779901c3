"""One session of Spark for all tests here: two slots, four attempts."""

import os
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
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
