"""What a conversion says where it cannot be made."""

from __future__ import annotations


class NotConvertible(TypeError):
    """No equivalent exists; says why."""
