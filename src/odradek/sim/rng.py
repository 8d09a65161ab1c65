"""Chance from a seed. Each name has a stream of its own, so that a new draw here does not shift the draws there."""

from hashlib import blake2b

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio, odd: the counter visits every state


class SimStream:
    """A 64-bit counter, mixed (SplitMix64): the whole state is one number, so a stream is cheap to copy."""

    __slots__ = ("_state",)

    def __init__(self, state: int) -> None:
        self._state = state & _MASK

    def _word(self) -> int:
        self._state = (self._state + _STEP) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, bound: int) -> int:
        if bound <= 0:
            raise ValueError(f"no number is below {bound} and at least 0")
        word, bits = self._word(), 64
        while bits < bound.bit_length() + 32:
            word, bits = word << 64 | self._word(), bits + 64
        return (word * bound) >> bits

    def fraction(self) -> float:
        return (self._word() >> 11) / (1 << 53)

    def bytes(self, count: int) -> bytes:
        words = (self._word().to_bytes(8, "little") for _ in range((count + 7) // 8))
        return b"".join(words)[:count]

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both possible."""
        return low + self.below(high - low + 1)

    def chance(self, percent: float) -> bool:
        """True in `percent` of all cases. 0 and 100 are certain and draw nothing: turning a fault off costs nothing."""
        if percent <= 0 or percent >= 100:
            return percent >= 100
        return self.fraction() * 100 < percent


class SimRng:
    __slots__ = ("_scope", "seed")

    def __init__(self, seed: int, scope: str = "") -> None:
        self.seed = seed
        self._scope = scope

    def stream(self, name: str) -> SimStream:
        text = f"{self.seed}/{self._scope}/{name}"
        return SimStream(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little"))

    def scoped(self, scope: str) -> "SimRng":
        """A source of streams with this seed, for one node or one incarnation of it."""
        return SimRng(self.seed, f"{self._scope}/{scope}")
