"""Blocks whose features are divided by their scales as they are read."""

from __future__ import annotations

from fastml.blocks import Blocks


class ScaledSource:
    """The rows of blocks, each feature multiplied by a number."""

    def __init__(self, blocks: Blocks, factors):
        self.blocks, self.factors = blocks, factors

    @property
    def n_rows(self) -> int:
        return self.blocks.n_rows

    def read(self, first: int, last: int):
        """One block: `Blocks` asks for nothing else."""
        block = self.blocks.block(first // self.blocks.block_rows)
        return block.X * self.factors, block.y, block.weights


def scaled(blocks: Blocks, factors) -> Blocks:
    """Blocks of the same rows and names."""
    return Blocks(ScaledSource(blocks, factors), blocks.block_rows, blocks.feature_names)
