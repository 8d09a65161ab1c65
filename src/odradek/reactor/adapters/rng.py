"""Chance from the kernel: good enough for nonces and ids, so that no caller has to choose between two sources."""

from os import urandom


class SystemStream:
    __slots__ = ()

    def below(self, bound: int) -> int:
        if bound <= 0:
            raise ValueError(f"no number is below {bound} and at least 0")
        # 64 bits more than the bound needs: the bias of the multiplication is below one in 2**64.
        width = 8 + (bound.bit_length() + 7) // 8
        return (int.from_bytes(urandom(width), "little") * bound) >> (8 * width)

    def fraction(self) -> float:
        return (int.from_bytes(urandom(7), "little") >> 3) / (1 << 53)

    def bytes(self, count: int) -> bytes:
        return urandom(count)


class SystemRng:
    __slots__ = ()

    def stream(self, name: str) -> SystemStream:
        """Every stream is the kernel's: draws there never depend on one another."""
        return SystemStream()
