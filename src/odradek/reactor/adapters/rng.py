"""Chance from the kernel: good enough for nonces and ids, so that no caller has to choose between two sources."""

from os import urandom

STOCK_BYTES = 1024  # asked for at a time: a thousand topic ids in a row would be as many system calls


class SystemStream:
    __slots__ = ("_stock",)

    def __init__(self) -> None:
        self._stock = b""

    def below(self, bound: int) -> int:
        if bound <= 0:
            raise ValueError(f"no number is below {bound} and at least 0")
        # 64 bits more than the bound needs: the bias of the multiplication is below one in 2**64.
        width = 8 + (bound.bit_length() + 7) // 8
        return (int.from_bytes(self.bytes(width), "little") * bound) >> (8 * width)

    def fraction(self) -> float:
        return (int.from_bytes(self.bytes(7), "little") >> 3) / (1 << 53)

    def bytes(self, count: int) -> bytes:
        """No byte is ever given out twice."""
        stock = self._stock
        if len(stock) < count:
            if count > STOCK_BYTES:
                return urandom(count)
            stock = urandom(STOCK_BYTES)
        self._stock = stock[count:]
        return stock[:count]


class SystemRng:
    __slots__ = ()

    def stream(self, name: str) -> SystemStream:
        """Every stream is the kernel's: draws there never depend on one another."""
        return SystemStream()
