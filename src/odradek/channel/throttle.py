"""From which version of an API on a quota is kept by the client: the broker answers at once, with a throttle time, and
expects to hear nothing for so long (KIP-219). Before that version the broker had waited itself, and the time in the
answer is only told.
"""

from odradek.protocol.declare import Response

# fmt: off
_FIRST_VERSION = {
    0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2, 21: 1,
    22: 1, 24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1, 39: 1, 40: 1,
    41: 1, 42: 1,
}
# fmt: on
_NEWER_APIS = 43  # they came after KIP-219 and were never otherwise


def throttle_ms(api_key: int, version: int, response: Response) -> int:
    """For how long the node that sent this answer wants to hear nothing; 0 if it does not say, or has waited itself."""
    first = _FIRST_VERSION.get(api_key, 0 if api_key >= _NEWER_APIS else None)
    if first is None or version < first:
        return 0
    return max(0, int(getattr(response, "throttle_time_ms", 0)))
