"""How a tree's parameters become rules."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from fastml._engines.trees.rules import seed_of


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_whole_numbers_give_the_draw_of_their_generator(seed):
    expected = check_random_state(seed).randint(0, 2**31 - 1)
    assert [seed_of(seed), seed_of(seed), seed_of(np.int64(seed))] == [expected] * 3


def test_a_generator_goes_on():
    generator, same = np.random.RandomState(3), np.random.RandomState(3)
    assert [seed_of(generator) for _ in range(3)] == same.randint(0, 2**31 - 1, size=3).tolist()


def test_without_a_seed_draws_differ():
    assert len({seed_of(None) for _ in range(5)}) > 1


def test_bad_seeds_are_errors_each_time():
    for _ in range(2):
        with pytest.raises(ValueError, match="Seed"):
            seed_of(-1)
