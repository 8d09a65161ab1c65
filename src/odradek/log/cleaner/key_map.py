"""The key map of compaction: for each key, the last offset at which the dirty section has it.

A slot is 24 bytes: 128 bits of a keyed hash, and an offset. Keys themselves are not stored, so that the config bounds
the memory whatever the keys are; with 128 bits two of them never meet by accident, and as the secret is drawn anew for
every round nobody can make them meet, which would delete one key's value. Open addressing, linear probing, at least
one slot free. This is the twin of the `KeyMap` in `_cleaner.pyx`: the hash differs, what they answer does not.
"""

from array import array

SLOT_BYTES = 24
DIGEST_BYTES = 16
SECRET_BYTES = 16
SLOTS_MIN = 2


class KeyMap:
    """`latest_offset` is how far the map speaks: every record up to there has been seen."""

    __slots__ = ("_digests", "_hash", "_offsets", "_secret", "_slots", "entries_max", "latest_offset", "size")

    def __init__(self, slots: int, entries_max: int, secret: bytes) -> None:
        if not 0 < entries_max < slots or len(secret) != SECRET_BYTES:
            raise bad_key_map(slots, entries_max, secret)
        from hashlib import blake2b  # here, as it costs 3 ms that nobody needs where the compiled map serves

        self._hash = blake2b
        self._slots = slots
        self._secret = secret
        self._digests = bytearray(DIGEST_BYTES * slots)
        self._offsets = array("q", bytes(8 * slots))  # offset + 1; 0 is a free slot
        self.entries_max = entries_max
        self.size = 0
        self.latest_offset = -1

    def __len__(self) -> int:
        return self.size

    def put(self, key: bytes, offset: int) -> None:
        digest, slot = self._find(key)
        if not self._offsets[slot]:
            if self.size >= self.entries_max:
                raise full_key_map(self.size)
            self._digests[slot * DIGEST_BYTES : (slot + 1) * DIGEST_BYTES] = digest
            self.size += 1
        self._offsets[slot] = offset + 1
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """The last offset of the key, -1 if the map has not seen it."""
        return self._offsets[self._find(key)[1]] - 1

    def advance(self, offset: int) -> None:
        """The map now speaks for everything up to `offset`, with a key or without."""
        self.latest_offset = max(self.latest_offset, offset)

    def _find(self, key: bytes) -> tuple[bytes, int]:
        """The slot that holds the key, or the free one where it belongs."""
        digest = self._hash(key, digest_size=DIGEST_BYTES, key=self._secret).digest()
        slot = int.from_bytes(digest[:8], "little") % self._slots
        while self._offsets[slot]:
            start = slot * DIGEST_BYTES
            if self._digests[start : start + DIGEST_BYTES] == digest:
                break
            slot = slot + 1 if slot + 1 < self._slots else 0
        return digest, slot


def slots_for(buffer_bytes: int, load_factor: float, offsets_max: int) -> tuple[int, int]:
    """How many slots to make and how many keys to take, for a dirty section that spans `offsets_max` offsets.

    The section has at most one key per offset: a short one gets a small map, and never fills it.
    """
    slots = max(SLOTS_MIN, buffer_bytes // SLOT_BYTES)
    entries_max = min(max(1, int(slots * load_factor)), slots - 1)
    if offsets_max < entries_max:
        entries_max = max(1, offsets_max)
        slots = min(slots, max(SLOTS_MIN, int(entries_max / load_factor) + 1))
    return max(slots, entries_max + 1), entries_max


def bad_key_map(slots: int, entries_max: int, secret: bytes) -> ValueError:
    return ValueError(f"a key map of {slots} slots cannot take {entries_max} keys with a secret of {len(secret)} bytes")


def full_key_map(size: int) -> ValueError:
    return ValueError(f"the key map holds {size} keys and takes no more")
