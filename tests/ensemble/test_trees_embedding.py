"""RandomTreesEmbedding: rows as leaves."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.preprocessing import OneHotEncoder

from fastml.ensemble import RandomTreesEmbedding


@pytest.fixture(scope="module")
def X():
    return load_iris().data


def test_every_row_has_one_leaf_per_tree(X):
    model = RandomTreesEmbedding(9, random_state=0)
    coded = model.fit_transform(X)
    leaves = model.apply(X)
    names = model.get_feature_names_out()
    assert coded.shape[1] == len(names)
    for i in (0, 60, 149):
        expected = [f"randomtreesembedding_{t}_{leaf}" for t, leaf in enumerate(leaves[i])]
        assert_array_equal(names[coded[[i]].toarray()[0] == 1.0], expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_coding_is_that_of_the_encoder(X, weighted):
    weights = (np.arange(100) % 3 > 0) * 1.0 if weighted else None
    model = RandomTreesEmbedding(9, random_state=0).fit(X[:100], sample_weight=weights)
    for rows in (X[:100], X):
        leaves = model.apply(rows)
        expected = model.one_hot_encoder_.transform(leaves)
        assert (model.transform(rows) != expected).nnz == 0
        theirs = OneHotEncoder().fit(model.apply(X[:100]))
        for mine, other in zip(model.one_hot_encoder_.categories_, theirs.categories_):
            assert_array_equal(mine, other)


def test_trees_are_totally_random(X):
    model = RandomTreesEmbedding(40, max_depth=3, random_state=0).fit(X)
    assert max(tree.get_depth() for tree in model.estimators_) == 3
    first = [tree.tree_.feature[0] for tree in model.estimators_]
    assert set(first) == {0, 1, 2, 3}
    assert model.estimator_.max_features == 1


def test_dense_and_sparse(X):
    dense = RandomTreesEmbedding(5, sparse_output=False, random_state=0).fit(X)
    sparse = RandomTreesEmbedding(5, random_state=0).fit(sp.csr_array(X))
    assert sp.issparse(sparse.transform(X))
    assert_array_equal(dense.transform(X), sparse.transform(X).toarray())


def test_same_coding_for_any_number_of_threads(X):
    one, two = (
        RandomTreesEmbedding(5, random_state=0, n_jobs=n).fit_transform(X).toarray() for n in (1, 2)
    )
    assert_array_equal(one, two)


def test_warm_start_adds_trees(X):
    model = RandomTreesEmbedding(3, random_state=0, warm_start=True).fit(X)
    few = model.apply(X)
    model.set_params(n_estimators=7).fit(X)
    assert_array_equal(model.apply(X)[:, :3], few)
    whole = RandomTreesEmbedding(7, random_state=0).fit(X)
    assert_array_equal(model.apply(X), whole.apply(X))


def test_no_out_of_bag_score():
    with pytest.raises(TypeError, match="unexpected keyword"):
        RandomTreesEmbedding(oob_score=True)


@pytest.mark.parametrize("name", ["n_estimators", "max_depth", "min_samples_split"])
def test_bad_parameters(X, name):
    with pytest.raises(ValueError, match=name):
        RandomTreesEmbedding(**{name: 0}).fit(X)
    assert not hasattr(RandomTreesEmbedding(), "one_hot_encoder_")


def test_weights_of_nothing_take_no_part(X):
    weights = np.ones(150)
    weights[X[:, 0] > 6] = 0.0
    model = RandomTreesEmbedding(20, random_state=0, max_depth=2).fit(X, sample_weight=weights)
    cuts = [t.tree_.threshold[t.tree_.feature == 0] for t in model.estimators_]
    assert np.concatenate(cuts).max() <= 6.0
