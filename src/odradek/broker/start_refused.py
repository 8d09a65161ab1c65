"""Why a node does not start."""


class StartRefused(Exception):  # noqa: N818 - an answer to whoever started us
    """The text is one line that says why, and what to do."""


class BadConfig(StartRefused):
    """The config is to blame: no other moment or machine would make a difference."""
