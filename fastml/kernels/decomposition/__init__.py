"""Products of sparse and dense matrices with a few vectors."""
