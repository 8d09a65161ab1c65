"""A name that is not there, in one line with those that are like it."""

from collections.abc import Iterable

from odradek.cli.failure import Refusal

_NEAR_MAX = 3


def unknown(kind: str, name: str, known: Iterable[str], how_to_list: str) -> Refusal:
    """`kind` is topic, group and the like; `how_to_list` the command that shows all of them."""
    near = nearest(name, known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"{how_to_list} shows those that are there"
    return Refusal(f"there is no {kind} {name!r}; {hint}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Those that are typed nearly like it, or that it is a part of; the likeliest first."""
    from difflib import get_close_matches  # only a mistake needs it

    there = sorted(known)
    lowered = {each.lower(): each for each in there}
    found = [lowered[match] for match in get_close_matches(name.lower(), lowered, _NEAR_MAX, 0.65)]
    found += [each for each in there if name and name.lower() in each.lower()]
    return list(dict.fromkeys(found))[:_NEAR_MAX]
