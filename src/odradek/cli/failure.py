"""What a user did wrong, in one line that says what to do."""


class Failure(Exception):  # noqa: N818 - the user's, not the program's
    """Ends the command with exit status 2 and this one line."""
