"""Bins that reload: a later fit reads them in place of the rows."""

import os
import pickle

import numpy as np
import pytest

from fastml._engines.boosted.bins import BinMapper
from fastml.blocks import Blocks, ThreadsExecutor, fit
from fastml.cluster import KMeans
from fastml.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(700, 3))
X[::7, 2] = np.nan
Y = X[:, 0] + np.sin(3.0 * X[:, 1])


@pytest.fixture
def blocks(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    return Blocks.from_npy(tmp_path / "X.npy", tmp_path / "y.npy", block_rows=200)


def boosting(**more):
    return HistGradientBoostingRegressor(**{"max_iter": 3, "random_state": 0, **more})


def same_trees(a, b):
    trees = [[t.nodes for trees in m._predictors for t in trees] for m in (a, b)]
    return all(np.array_equal(*pair) for pair in zip(*trees, strict=True))


@pytest.mark.parametrize("more", [{}, {"early_stopping": True}, {"subsample": 0.5}])
def test_the_same_trees(blocks, tmp_path, more, monkeypatch):
    folder = tmp_path / "new" / "bins"
    plain = fit(boosting(**more), blocks)
    first = fit(boosting(**more), blocks, bins=folder)
    names = sorted(os.listdir(folder))
    assert names == [f"{i:08d}.npy" for i in range(4)] + ["bins.json", "thresholds.npz"]
    for name in ("fit", "transform"):  # no rows are binned again

        def refused(self, *_):
            raise AssertionError("binned")

        monkeypatch.setattr(BinMapper, name, refused)
    again = fit(boosting(**more), blocks, ThreadsExecutor(1), bins=str(folder))
    monkeypatch.undo()
    assert same_trees(plain, first)
    assert same_trees(plain, again)
    np.testing.assert_array_equal(again.predict(X), plain.predict(X))
    assert pickle.loads(pickle.dumps(again)).predict(X[:1]) == plain.predict(X[:1])


def test_other_parameters_and_in_files(blocks, tmp_path, monkeypatch):
    from fastml._engines import kept

    fit(boosting(), blocks, bins=tmp_path / "bins")
    monkeypatch.setattr(kept, "_memory", lambda: 1.0)
    own = fit(boosting(max_depth=2, max_iter=5), blocks, bins=tmp_path / "bins")
    assert same_trees(own, fit(boosting(max_depth=2, max_iter=5), blocks))


def test_lost_and_damaged_bins_are_made_again(blocks, tmp_path):
    folder = tmp_path / "bins"
    plain = fit(boosting(), blocks, bins=folder)
    (folder / "00000001.npy").unlink()
    whole = (folder / "00000002.npy").read_bytes()
    (folder / "00000002.npy").write_bytes(whole[:-50])
    (folder / "00000003.npy").write_bytes(b"")
    assert same_trees(plain, fit(boosting(), blocks, bins=folder))
    assert (folder / "00000002.npy").read_bytes() == whole


def test_bins_of_other_rows_are_refused(blocks, tmp_path):
    folder = tmp_path / "bins"
    fit(boosting(), blocks, bins=folder)
    with pytest.raises(ValueError, match="not of max_bins of this fit"):
        fit(boosting(max_bins=32), blocks, bins=folder)
    np.save(tmp_path / "X.npy", X + 1.0)
    os.utime(tmp_path / "X.npy", ns=(1, 1))
    changed = Blocks.from_npy(tmp_path / "X.npy", tmp_path / "y.npy", block_rows=200)
    with pytest.raises(ValueError, match="not of the rows of this fit"):
        fit(boosting(), changed, bins=folder)
    with pytest.raises(FileExistsError, match="neither empty nor"):
        fit(boosting(), changed, bins=tmp_path)
    with pytest.raises(ValueError, match="not of arrays in memory"):
        fit(boosting(), Blocks.from_npy(X, Y), bins=folder)
    with pytest.raises(TypeError, match="KMeans has no bins"):
        fit(KMeans(2), blocks, bins=folder)


def test_a_full_disk_leaves_nothing_half(blocks, tmp_path, monkeypatch):
    folder = tmp_path / "bins"
    model = boosting()

    def full(file, *_, **__):
        file.write(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="the disk may be full"):
        fit(model, blocks, bins=folder)
    monkeypatch.undo()
    assert sorted(os.listdir(folder)) == ["bins.json", "thresholds.npz"]
    assert not hasattr(model, "n_iter_")
    assert same_trees(fit(model, blocks, bins=folder), fit(boosting(), blocks))


def test_classes(blocks, tmp_path):
    np.save(tmp_path / "codes.npy", (Y > 0).astype(int))
    told = Blocks.from_npy(tmp_path / "X.npy", tmp_path / "codes.npy", block_rows=200)
    models = [
        fit(HistGradientBoostingClassifier(max_iter=2, random_state=0), told, bins=bins)
        for bins in (None, tmp_path / "bins", tmp_path / "bins")
    ]
    assert same_trees(*models[:2])
    assert same_trees(*models[1:])
