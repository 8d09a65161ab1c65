"""Addresses: what a server binds, and what it tells clients to connect to."""

from collections.abc import Callable, Mapping

from odradek.broker.start_refused import BadConfig, StartRefused
from odradek.config.listeners import Endpoint, advertised
from odradek.config.parsed import Config
from odradek.network.socket_server import SocketServer

HostName = Callable[[], str]
_EVERYWHERE = ("", "0.0.0.0", "::")


def bind(server: SocketServer, endpoint: Endpoint, plane: str) -> Endpoint:
    """Listens at the endpoint. Returns it with the port that it got, if any free one was asked for."""
    try:
        listener = server.add_listener(endpoint, plane=plane)
    except OSError as error:
        where = shown(endpoint.host or "0.0.0.0", endpoint.port)
        remedy = "set another --listen HOST:PORT, or other listeners" if plane == "data" else "set other listeners"
        raise StartRefused(f"cannot listen on {where} ({endpoint.listener}): {error.strerror}; {remedy}") from error
    except ValueError as error:  # a ConfigError, or what OpenSSL has against the stores
        raise BadConfig(str(error)) from error
    return Endpoint(endpoint.listener, endpoint.protocol, endpoint.host, listener.address[1])


def shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def advertised_endpoints(config: Config, bound: Mapping[str, Endpoint], host_name: HostName) -> list[Endpoint]:
    """The advertised endpoints. Port 0 becomes the port that was bound, an empty host the name of this machine."""
    return [_advertised(endpoint, bound.get(endpoint.listener), host_name) for endpoint in advertised(config)]


def _advertised(endpoint: Endpoint, bound: Endpoint | None, host_name: HostName) -> Endpoint:
    port = bound.port if bound is not None and endpoint.port == 0 else endpoint.port
    host = host_name() if endpoint.host in _EVERYWHERE else endpoint.host
    return Endpoint(endpoint.listener, endpoint.protocol, host, port)
