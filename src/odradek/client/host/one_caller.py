"""A client that one thread uses at a time, and who is told if a second one does.

Not a lock: whoever comes second is not to wait but to learn of the mistake. An interrupt at any point leaves the
client to the thread that was interrupted, which can go on with it.
"""

from threading import get_ident


class OneCaller:
    __slots__ = ("_owner", "in_callback")

    def __init__(self) -> None:
        self._owner: dict[str, int] = {}
        self.in_callback = False  # the owner's own function runs, and may call the client

    def enter(self) -> bool:
        """False if another thread is in the client."""
        return self._owner.setdefault("", get_ident()) == get_ident()

    def leave(self) -> None:
        if not self.in_callback:
            self._owner.pop("", None)
