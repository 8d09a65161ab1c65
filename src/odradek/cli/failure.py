"""Why a command ends without having done what it was asked for, in one line that says what to do."""


class Failure(Exception):  # noqa: N818 - the user's, not the program's
    """A mistake in the command, in a config or in the input: ends the command with this one line."""

    status = 2


class Refusal(Failure):
    """The command made sense; what it found on the way did not let it be done."""

    status = 1
