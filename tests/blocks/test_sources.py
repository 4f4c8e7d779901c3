"""Where blocks come from, where they are kept, and files that are not what they were."""

import builtins
import errno
import gc
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from fastml.blocks import Blocks, _blocks, _cache, fit, predict, transform
from fastml.blocks._files import file_of, read_block, write_block
from fastml.linear_model import LinearRegression, LogisticRegression
from fastml.preprocessing import StandardScaler

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 3))
Y = rng.integers(0, 2, 500)
WEIGHTS = rng.random(500)
TABLE = pa.table(
    {**{name: X[:, j] for j, name in enumerate("abc")}, "y": Y, "w": WEIGHTS,
     "name": np.array(["no", "yes"])[Y]}
)  # fmt: skip


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTML_BLOCKS_DIR", str(tmp_path / "kept"))


def rows_of(blocks):
    parts = list(blocks)
    assert [part.first for part in parts] == list(range(0, blocks.n_rows, blocks.block_rows))
    return tuple(
        None if parts[0][i] is None else np.concatenate([part[i] for part in parts])
        for i in (2, 3, 4)
    )


def check(blocks, y=Y, weights=WEIGHTS):
    found = rows_of(blocks)
    np.testing.assert_array_equal(found[0], X)
    np.testing.assert_array_equal(found[1], y)
    np.testing.assert_array_equal(found[2], weights)
    assert blocks.feature_names == ["a", "b", "c"]


def test_files_of_numpy_are_mapped_where_they_lie(tmp_path):
    for name, array in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", array)
    blocks = Blocks.from_npy(tmp_path / "x.npy", tmp_path / "y.npy", block_rows=128)
    np.testing.assert_array_equal(rows_of(blocks)[0], X)
    copy = pickle.loads(pickle.dumps(blocks))
    np.testing.assert_array_equal(rows_of(copy)[1], Y)
    assert repr(copy) == "Blocks(500 rows, 3 features, 4 blocks)"
    assert not copy.block(0).X.flags.writeable
    np.save(tmp_path / "x.npy", X[:400])
    with pytest.raises(RuntimeError, match="has changed"):
        pickle.loads(pickle.dumps(blocks))
    with pytest.raises(ValueError, match=r"numpy\.save"):
        pickle.dumps(Blocks.from_npy(X))


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="X has 500 rows and y has 3"):
        Blocks.from_npy(X, Y[:3])
    with pytest.raises(ValueError, match="float32 or float64"):
        Blocks.from_npy(X.astype(int))
    with pytest.raises(ValueError, match="differ in their columns"):
        Blocks.from_npy([X, X[:, :2]])
    with pytest.raises(ValueError, match="at least 0"):
        Blocks.from_npy(X, None, -WEIGHTS)
    with pytest.raises(ValueError, match="there are no rows"):
        Blocks.from_npy(X[:0])
    with pytest.raises(ValueError, match="block_rows"):
        Blocks.from_npy(X, block_rows=0)
    with pytest.raises(IndexError, match="4 blocks"):
        Blocks.from_npy(X, block_rows=128).block(4)


@pytest.mark.parametrize("cache", [True, False])
def test_parquet_whatever_its_files_and_row_groups(tmp_path, cache):
    folder = tmp_path / "rows"
    folder.mkdir()
    for i, (start, stop) in enumerate([(0, 130), (130, 131), (131, 500)]):
        pq.write_table(TABLE.slice(start, stop - start), folder / f"{i}.parquet", row_group_size=90)
    columns = {"features": list("abc"), "target": "y", "weight": "w", "cache": cache}
    blocks = Blocks.from_parquet(folder, block_rows=64, **columns)
    check(blocks)
    check(blocks)
    check(pickle.loads(pickle.dumps(blocks)))
    check(Blocks.from_parquet(str(folder / "*.parquet"), block_rows=500, **columns))
    names = Blocks.from_parquet(folder, **{**columns, "target": "name"})
    check(names, np.array(["no", "yes"])[Y])
    assert bool(list(tmp_path.glob("kept/*/*.block"))) == cache


def test_a_lost_or_damaged_block_is_made_again(tmp_path):
    pq.write_table(TABLE.drop(["name"]), tmp_path / "rows.parquet", row_group_size=90)
    blocks = Blocks.from_parquet(tmp_path / "rows.parquet", target="y", weight="w", block_rows=64)
    check(blocks)
    file_of(blocks.folder, 2).unlink()
    path = file_of(blocks.folder, 3)
    path.write_bytes(path.read_bytes()[:200])
    file_of(blocks.folder, 4).write_bytes(b"nothing")
    check(blocks)
    check(blocks)
    assert len(read_block(path)[0]) == 64
    assert not list(blocks.folder.glob(".*"))


def test_a_full_disk_costs_time_only(tmp_path, monkeypatch):
    pq.write_table(TABLE.drop(["name"]), tmp_path / "rows.parquet")

    def full(path, arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_blocks, "write_block", full)
    with pytest.warns(RuntimeWarning, match=r"cannot be kept.*No space left"):
        blocks = Blocks.from_parquet(
            tmp_path / "rows.parquet", target="y", weight="w", block_rows=64
        )
    check(blocks)


def test_an_unfinished_file_is_never_seen(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        write_block(tmp_path / "0.block", (X, np.array([object()]), None))
    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_is_an_error(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE.drop(["name"]), path)
    blocks = Blocks.from_parquet(path, target="y", cache=False, block_rows=64)
    pq.write_table(TABLE.slice(0, 400), path)
    with pytest.raises(RuntimeError, match=r"rows\.parquet has changed since"):
        fit(LogisticRegression(), blocks)
    os.unlink(path)
    with pytest.raises(RuntimeError, match="is gone"):
        blocks.block(0)


def test_columns_that_are_not_there_or_not_numbers(tmp_path):
    pq.write_table(TABLE, tmp_path / "0.parquet")
    with pytest.raises(ValueError, match=r"no column 'z'; columns are \['a', 'b', 'c'"):
        Blocks.from_parquet(tmp_path / "0.parquet", target="z")
    with pytest.raises(ValueError, match="'name' has type string"):
        Blocks.from_parquet(tmp_path / "0.parquet", target="y")
    pq.write_table(TABLE.rename_columns(["a", "b", "d", "y", "w", "name"]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="no column 'c'"):
        Blocks.from_parquet(tmp_path, features=list("abc"))
    pq.write_table(TABLE.set_column(2, "c", pa.array(Y)), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="has other columns than"):
        Blocks.from_parquet(tmp_path, features=list("abc"))
    with pytest.raises(FileNotFoundError):
        Blocks.from_parquet(str(tmp_path / "*.none"))


def test_nulls_and_types_of_arrow():
    table = pa.table(
        {"a": pa.array([1, None, 3]), "b": pa.array([True, False, None]),
         "c": pa.array([1.5, 2.5, 3.5], pa.float32()),
         "y": pa.array(["u", "v", "u"]).dictionary_encode()}
    )  # fmt: skip
    block = Blocks.from_arrow(table, target="y").block(0)
    np.testing.assert_array_equal(block.X, [[1, 1, 1.5], [np.nan, 0, 2.5], [3, np.nan, 3.5]])
    assert block.y.tolist() == ["u", "v", "u"]
    assert Blocks.from_arrow(table, features="c").dtype == np.float32
    for column in ("a", "b"):
        with pytest.raises(ValueError, match=f"'{column}' has 1 missing values"):
            Blocks.from_arrow(table, features="c", target=column)


def test_batches_of_any_length_and_a_schema_that_changes(tmp_path):
    table = TABLE.drop(["name"])
    batches = table.slice(0, 7).to_batches() + table.slice(7, 150).to_batches()
    batches += table.slice(157).to_batches(max_chunksize=33)
    blocks = Blocks.from_arrow(iter(batches), target="y", weight="w", block_rows=64)
    check(blocks)
    folder = Path(blocks.source.folder)
    assert folder.is_dir()
    del blocks
    gc.collect()
    assert not folder.exists()
    kept = Blocks.from_arrow(table, target="y", weight="w", path=tmp_path / "new", block_rows=64)
    check(pickle.loads(pickle.dumps(kept)))
    file_of(tmp_path / "new", 1).unlink()
    with pytest.raises(RuntimeError, match="block 1 is lost or damaged"):
        kept.block(1)
    with pytest.raises(FileExistsError):
        Blocks.from_arrow(table, path=tmp_path / "new")
    wrong = [batches[0], table.set_column(0, "a", pa.array(Y)).to_batches()[0]]
    with pytest.raises(ValueError, match="schema changed"):
        Blocks.from_arrow(wrong, target="y", path=tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


@pytest.mark.parametrize("reader", ["pyarrow", "csv"])
def test_text_files(tmp_path, monkeypatch, reader):
    if reader == "csv":
        real = builtins.__import__

        def refuse(name, *rest):
            if name.startswith("pyarrow"):
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", refuse)
        for name in [name for name in sys.modules if name.startswith("pyarrow")]:
            monkeypatch.delitem(sys.modules, name)
    for i, rows in enumerate((range(0, 130), range(130, 500))):
        lines = ["a,b,c,y,w,name"]
        lines += [
            ",".join([*(repr(float(v)) for v in X[r]), str(Y[r]), repr(float(WEIGHTS[r])),
                      ["no", "yes"][Y[r]]])
            for r in rows
        ]  # fmt: skip
        (tmp_path / f"{i}.csv").write_text("\n".join(lines) + "\n")
    columns = {"features": list("abc"), "target": "y", "weight": "w"}
    blocks = Blocks.from_csv(tmp_path, block_rows=64, **columns)
    check(blocks)
    assert blocks.block(0).y.dtype == np.int64
    names = Blocks.from_csv(tmp_path, **{**columns, "target": "name"})
    check(names, np.array(["no", "yes"])[Y])
    (tmp_path / "0.csv").write_text("a,y\n,1\n2,\n")
    np.testing.assert_array_equal(
        Blocks.from_csv(tmp_path / "0.csv", features="a").block(0).X, [[np.nan], [2.0]]
    )
    with pytest.raises(ValueError, match="'y' has 1 missing values"):
        Blocks.from_csv(tmp_path / "0.csv", target="y")
    with pytest.raises(ValueError, match="has other columns than"):
        Blocks.from_csv([tmp_path / "0.csv", tmp_path / "1.csv"])


def test_kept_data_stay_below_the_limit(tmp_path, monkeypatch):
    table = TABLE.drop(["name"])
    made = []
    monkeypatch.setenv("FASTML_BLOCKS_LIMIT", str(50_000))
    for i in range(3):
        path = tmp_path / f"{i}.parquet"
        pq.write_table(table, path)
        blocks = Blocks.from_parquet(path, target="y", weight="w", block_rows=64)
        check(blocks)
        os.utime(blocks.folder / _cache.DESCRIPTION, (i, i))
        if i < 2:
            (blocks.folder / f"{os.getpid()}.user").unlink()  # its process has ended
        made.append(blocks.folder)
    assert [folder.exists() for folder in made] == [False, True, True]
    monkeypatch.setenv("FASTML_BLOCKS_LIMIT", "1000")
    with pytest.warns(RuntimeWarning, match="find no room"):
        blocks = Blocks.from_parquet(tmp_path / "0.parquet", target="y", weight="w", block_rows=64)
    check(blocks)
    assert made[2].exists()  # this process uses it


def test_a_process_that_ended_uses_nothing(tmp_path):
    (tmp_path / "999999999.user").touch()
    assert not _cache.in_use(tmp_path)
    (tmp_path / f"{os.getpid()}.user").touch()
    assert _cache.in_use(tmp_path)


def test_what_is_written_is_what_is_said(tmp_path):
    blocks = Blocks.from_npy(X, Y, WEIGHTS, feature_names=list("abc"), block_rows=128)
    scaler = fit(StandardScaler(), blocks)
    expected = StandardScaler().fit(X, sample_weight=WEIGHTS).transform(X)
    places = {"folder": tmp_path / "scaled", "parquet": tmp_path / "s.parquet", "none": None}
    for to in places.values():
        scaled = transform(scaler, blocks, to=to)
        found = rows_of(scaled)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12)
        np.testing.assert_array_equal(found[1], Y)
        np.testing.assert_array_equal(found[2], WEIGHTS)
        assert scaled.feature_names == ["a", "b", "c"]
    blocks = Blocks.from_npy(X, Y, block_rows=128)
    model = fit(LogisticRegression(), blocks)
    proba = predict(model, blocks, method="predict_proba", to=tmp_path / "p.parquet")
    np.testing.assert_allclose(rows_of(proba)[0], model.predict_proba(X), rtol=1e-12)
    assert proba.feature_names == ["0", "1"]
    labels = predict(model, blocks, to=tmp_path / "labels")
    np.testing.assert_array_equal(rows_of(labels)[0][:, 0], model.predict(X))
    names = fit(LogisticRegression(), Blocks.from_npy(X, np.array(["no", "yes"])[Y]))
    predict(names, blocks, to=tmp_path / "names.parquet")
    written = pq.read_table(tmp_path / "names.parquet").column(0).to_pylist()
    assert written == names.predict(X).tolist()
    with pytest.raises(ValueError, match=r"end in \.parquet"):
        predict(names, blocks, to=tmp_path / "names")
    with pytest.raises(AttributeError, match="no method 'nothing'"):
        predict(names, blocks, method="nothing")


def test_an_error_leaves_no_file(tmp_path):
    rows = X.copy()
    rows[400] = np.nan
    model = LinearRegression().fit(X, Y)
    blocks = Blocks.from_npy(rows, block_rows=128)
    for to in ("out.parquet", "out"):
        with pytest.raises(ValueError, match="NaN"):
            predict(model, blocks, to=tmp_path / to)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["kept"])


def test_any_batches(tmp_path):
    """A generator of batches of any lengths, which is read once, one batch at a time."""
    read = []

    def batches():
        for first in range(0, len(X), 37):
            read.append(first)
            yield X[first : first + 37], Y[first : first + 37], WEIGHTS[first : first + 37]

    blocks = Blocks.from_batches(batches(), feature_names="abc", path=tmp_path / "b", block_rows=64)
    found = rows_of(blocks)
    for own, expected in zip(found, (X, Y, WEIGHTS)):
        np.testing.assert_array_equal(own, expected)
    assert len(read) == -(-len(X) // 37)
    assert blocks.feature_names == ["a", "b", "c"]
    alone = Blocks.from_batches(X[i : i + 5].tolist() for i in range(0, 50, 5))
    np.testing.assert_array_equal(rows_of(alone)[0], X[:50])
    single = Blocks.from_batches([X[:0].astype(np.float32), X[:5]])
    assert single.dtype == np.float32
    for wrong, match in (
        ([], "no rows"),
        ([X[:3], X[:3, :2]], "batch 1 has other columns"),
        ([X[:3], (X[:3], Y[:3])], "batch 1 has other columns"),
        ([(X[:3], Y[:2])], "block 0 has 3 rows"),
        ([X[0]], "rows and columns"),
        ([(X, Y, WEIGHTS, Y)], "got 4 parts"),
    ):
        with pytest.raises(ValueError, match=match):
            Blocks.from_batches(wrong, path=tmp_path / "wrong")
        assert not (tmp_path / "wrong").exists()
    with pytest.raises(ValueError, match="2 feature_names of 3"):
        Blocks.from_batches([X], feature_names="ab")
