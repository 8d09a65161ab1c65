"""Why a node does not start."""


class StartRefused(Exception):  # noqa: N818 - an answer to whoever started us
    """The text is one line that says why, and what to do."""
