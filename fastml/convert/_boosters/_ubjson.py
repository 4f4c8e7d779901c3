"""Universal Binary JSON, in which XGBoost writes its models by default, → Python values."""

from __future__ import annotations

import numpy as np

NUMBERS = {
    b"i": ">i1",
    b"U": ">u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
PLAIN = {b"Z": None, b"T": True, b"F": False}
DEEPEST = 64


def loads(data: bytes):
    """The value that the bytes describe; ValueError if they do not describe one."""
    try:
        return _Bytes(data).value()
    except (IndexError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"this is not Universal Binary JSON: {error}") from error


class _Bytes:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > len(self.data):
            raise ValueError("this is not Universal Binary JSON: it ends too early")
        self.at += n
        return self.data[self.at - n : self.at]

    def marker(self) -> bytes:
        mark = b"N"
        while mark == b"N":  # says nothing
            mark = self.take(1)
        return mark

    def value(self, mark: bytes | None = None, depth: int = 0):
        if depth > DEEPEST:
            raise ValueError("this is not Universal Binary JSON: it is nested too deeply")
        mark = mark or self.marker()
        if mark in PLAIN:
            return PLAIN[mark]
        if mark in NUMBERS:
            dtype = np.dtype(NUMBERS[mark])
            return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()
        if mark in (b"S", b"H"):
            return self.text()
        if mark == b"C":
            return self.take(1).decode("ascii")
        if mark == b"[":
            return self.array(depth)
        if mark == b"{":
            return self.object(depth)
        raise ValueError(f"this is not Universal Binary JSON: it has a marker {mark!r}")

    def text(self) -> str:
        return self.take(int(self.value())).decode("utf-8")

    def kind_and_count(self) -> tuple[bytes | None, int | None]:
        kind = count = None
        if self.data[self.at : self.at + 1] == b"$":
            self.at += 1
            kind = self.take(1)
        if self.data[self.at : self.at + 1] == b"#":
            self.at += 1
            count = int(self.value())
        return kind, count

    def array(self, depth: int):
        kind, count = self.kind_and_count()
        if kind in NUMBERS and count is not None:
            dtype = np.dtype(NUMBERS[kind])
            return np.frombuffer(self.take(count * dtype.itemsize), dtype).tolist()
        found: list = []
        while count is None or len(found) < count:
            mark = kind or self.marker()
            if count is None and mark == b"]":
                break
            found.append(self.value(mark, depth + 1))
        return found

    def object(self, depth: int):
        kind, count = self.kind_and_count()
        found: dict = {}
        n = 0
        while count is None or n < count:
            if count is None and self.data[self.at : self.at + 1] == b"}":
                self.at += 1
                break
            name = self.text()
            found[name] = self.value(kind, depth + 1)
            n += 1
        return found
