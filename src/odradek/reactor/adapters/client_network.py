"""The network of a client, which is a guest: in a program with threads of its own, that may fork, on any system."""

import select
import socket
from weakref import WeakSet

from odradek.reactor.adapters.network import SystemNetwork
from odradek.reactor.ports import Poller


class ClientNetwork(SystemNetwork):
    __slots__ = ("_pollers", "_sockets")

    def __init__(self) -> None:
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._pollers: list[Poller] = []

    def poller(self) -> Poller:
        made = _poller()
        self._pollers.append(made)
        return made

    def close(self) -> None:
        """Closes every socket and poller that it has made: at a client's end, whatever has become of its session, and
        in a process that was forked, whose parent goes on using them.

        Not a byte is written, so a connection that two processes have ends for nobody. The parent's poller is the same
        object of the kernel as ours: nothing is unregistered from it.
        """
        for made in list(self._sockets):
            made.close()
        for poller in self._pollers:
            poller.close()
        self._pollers.clear()

    def _stream_socket(self, host: str) -> socket.socket:
        made = super()._stream_socket(host)
        self._sockets.add(made)
        return made


def _poller() -> Poller:
    if hasattr(select, "epoll"):
        from odradek.reactor.adapters.poller import SystemPoller

        return SystemPoller(looks=False)
    from odradek.reactor.adapters.portable_poller import PortablePoller

    return PortablePoller()
