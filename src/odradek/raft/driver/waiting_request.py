"""A request of another replica that waits for its answer: the token which the core hands back with its decision."""

from collections.abc import Callable

from odradek.protocol.declare import Response
from odradek.raft.core.effects import Answer

Finish = Callable[[Response], object]  # takes the response to whoever waits for it


class WaitingRequest:
    __slots__ = ("_finish", "_respond")

    def __init__(self, finish: Finish, respond: Callable[[Answer], Response]) -> None:
        """`respond` makes the response of an answer that the core gives by itself, be it a refusal."""
        self._finish = finish
        self._respond = respond

    def answer(self, answer: Answer) -> None:
        self._finish(self._respond(answer))

    def resolve(self, response: Response) -> None:
        self._finish(response)
