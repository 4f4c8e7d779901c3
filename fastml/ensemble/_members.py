"""An ensemble is a sequence of its members."""

from __future__ import annotations


class MembersMixin:
    """``len(model)``, ``model[i]`` and iteration, over ``estimators_``."""

    def __len__(self):
        """Number of members."""
        return len(self.estimators_)

    def __getitem__(self, index):
        """A member, or a slice of them."""
        return self.estimators_[index]

    def __iter__(self):
        """The members in the order of their making."""
        return iter(self.estimators_)
