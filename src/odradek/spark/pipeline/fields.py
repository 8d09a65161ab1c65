"""Takes the fields of one part of a declaration, each of the type that it has to be; what is wrong is gathered."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from odradek.spark.pipeline.given import Given, kind_of
from odradek.spark.pipeline.mistakes import Mistakes, Place, did_you_mean

_NAME = re.compile(r"[A-Za-z_]\w*")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_DURATION = re.compile(r"(\d+)\s*(milliseconds?|seconds?|minutes?|hours?|days?|weeks?)", re.IGNORECASE)


class Fields:
    """The fields of `what`, say "the source orders". Each is asked for once; `finish` tells of those left over."""

    def __init__(self, what: str, part: Given, mistakes: Mistakes) -> None:
        self.what = what
        self.place = part.place
        self.mistakes = mistakes
        self._left: dict[str, Given] = {}
        self._known: set[str] = set()
        if isinstance(part.value, Mapping):
            self._left = dict(part.value)
        else:
            self.wrong(part.place, f"{what} is to be names with values, not {kind_of(part.value)}")

    def wrong(self, place: Place, text: str) -> None:
        self.mistakes.add(place, text)

    def take(self, name: str) -> Given | None:
        self._known.add(name)
        return self._left.pop(name, None)

    def place_of(self, name: str) -> Place:
        return self._left[name].place if name in self._left else self.place

    def has(self, name: str) -> bool:
        self._known.add(name)
        return name in self._left

    def text(self, name: str) -> str | None:
        found = self.take(name)
        return None if found is None else self.text_of(name, found)

    def text_of(self, name: str, found: Given) -> str | None:
        if isinstance(found.value, str) and found.value.strip():
            return found.value
        kind = "an empty text" if isinstance(found.value, str) else kind_of(found.value)
        self.wrong(found.place, f"{name} of {self.what} is to be a text, not {kind}")
        return None

    def needed(self, name: str, why: str) -> str:
        """Empty if it is not there, which is told."""
        if not self.has(name):
            self.wrong(self.place, f"{self.what} has no {name}: {why}")
        return self.text(name) or ""

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        found = self.take(name)
        text = default if found is None else self.text_of(name, found)
        if found is None or text is None:
            return default
        if text.lower() not in choices:
            guess = did_you_mean(text, choices)
            self.wrong(found.place, f"{name} of {self.what} cannot be {text!r}{guess}")
            return default
        return text.lower()

    def texts(self, name: str) -> tuple[str, ...]:
        """A list, or a single text with commas."""
        found = self.take(name)
        if found is None:
            return ()
        if isinstance(found.value, tuple):
            return tuple(text for each in found.value if (text := self.text_of(name, each)) is not None)
        text = self.text_of(name, found) or ""
        return tuple(part.strip() for part in text.split(",") if part.strip())

    def duration(self, name: str) -> str | None:
        found = self.take(name)
        text = None if found is None else self.text_of(name, found)
        if found is not None and text is not None and not _DURATION.fullmatch(text.strip()):
            self.wrong(found.place, f"{name} of {self.what} is to be a time such as '10 minutes', not {text!r}")
        return text

    def count(self, name: str, default: int) -> int:
        found = self.take(name)
        if found is None:
            return default
        value = found.value
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.wrong(found.place, f"{name} of {self.what} is to be a whole number above 0")
            return default
        return value

    def settings(self, name: str) -> dict[str, Given]:
        """Names with plain values."""
        found = self.take(name)
        if found is None:
            return {}
        if not isinstance(found.value, Mapping):
            self.wrong(found.place, f"{name} of {self.what} is to be names with values, not {kind_of(found.value)}")
            return {}
        return {key: each for key, each in found.value.items() if self._is_plain(f"{name}.{key}", each)}

    def _is_plain(self, name: str, found: Given) -> bool:
        is_plain = isinstance(found.value, (str, int, float))
        if not is_plain:
            self.wrong(found.place, f"{name} of {self.what} is to be a text or a number, not {kind_of(found.value)}")
        return is_plain

    def function(self, name: str) -> str | Callable[..., Any] | None:
        """module:function, or a function. Any: a person's own."""
        found = self.take(name)
        if found is None:
            return None
        if callable(found.value):
            return found.value
        text = self.text_of(name, found)
        if text is not None and not _FUNCTION.fullmatch(text):
            self.wrong(found.place, f"{name} of {self.what} is to be module:function, not {text!r}")
            return None
        return text

    def parts(self, name: str) -> Mapping[str, Given]:
        """Names with parts that have fields of their own."""
        found = self.take(name)
        if found is None or found.value is None:
            return {}
        if not isinstance(found.value, Mapping):
            self.wrong(found.place, f"{name} is to be names with what each is, not {kind_of(found.value)}")
            return {}
        for key, each in found.value.items():
            if not _NAME.fullmatch(key):
                self.wrong(each.place, f"{key!r} is no name: letters, digits and underscores")
        return found.value

    def finish(self) -> None:
        for name, found in self._left.items():
            self.wrong(found.place, f"{self.what} has no field {name!r}{did_you_mean(name, self._known)}")


def plain_text(value: object) -> str:
    """As Spark takes options."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain_texts(settings: Mapping[str, Given]) -> dict[str, str]:
    return {name: plain_text(each.value) for name, each in settings.items()}
