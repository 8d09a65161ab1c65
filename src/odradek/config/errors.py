"""The one error of this package. It names the config, the value (unless it is a secret) and what is allowed."""

_SHOWN_MAX_CHARS = 200


class ConfigError(ValueError):
    """A config that cannot be used.

    The text has the form Kafka answers with (`Invalid value x for configuration y: reason`), so that a handler may put
    it into a response as it is, and it is always one line.
    """

    def __init__(self, reason: str, name: str | None = None, value: object = None) -> None:
        self.reason = one_line(reason)
        self.name = name
        self.value = value
        super().__init__(self.reason if name is None else _invalid_value(self.reason, name, value))


def missing(name: str) -> ConfigError:
    return ConfigError(f'Missing required configuration "{name}" which has no default value.')


def one_line(text: str) -> str:
    """Control characters and line ends as escapes: a value from a peer must not forge a line in a log."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _invalid_value(reason: str, name: str, value: object) -> str:
    shown = one_line(_java_text(value))
    if len(shown) > _SHOWN_MAX_CHARS:
        shown = f"{shown[:_SHOWN_MAX_CHARS]}... ({len(shown)} characters)"
    return f"Invalid value {shown} for configuration {one_line(name)}: {reason}"


def _java_text(value: object) -> str:
    """The value as Java prints it: what a Kafka client expects to read in the message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_java_text, value))}]"
    try:
        return str(value)
    except ValueError:  # an int beyond Python's limit of digits
        return f"a {type(value).__name__} too large to print"
