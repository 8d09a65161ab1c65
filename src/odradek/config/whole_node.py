"""What a server.properties lacks to describe a whole node, in the lines that would complete it.

They go with what the file has already: its id, its listeners, the name and the port of its controllers' listener.
"""

from collections.abc import Mapping

QUORUM = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
_CONTROLLER, _CONTROLLER_PORT = "CONTROLLER", "9093"
_HOST = "127.0.0.1"  # whoever wants to be reached from elsewhere says so: a line to copy lets nobody in
_LISTENERS, _PROTOCOLS = "listeners", "listener.security.protocol.map"


def lacking(values: Mapping[str, object]) -> list[str]:
    """NAME=VALUE for each config that has to be added, or to be set to something else."""
    given = {name: str(value).strip() for name, value in values.items()}
    controller = given.get("controller.listener.names", _CONTROLLER).partition(",")[0].strip()
    node_id = given.get("node.id") or given.get("broker.id") or "1"
    completed = {
        "process.roles": given.get("process.roles") or "broker,controller",
        "node.id": node_id,
        **_listening(given, controller),
        "controller.listener.names": controller,
    }
    if not any(given.get(name) for name in QUORUM):
        port = _port(completed[_LISTENERS], controller)
        completed[QUORUM[0]] = f"{node_id}@localhost:{port}"
    if "broker.id" in given:
        del completed["node.id"]  # they are one config under two names
    return [f"{name}={value}" for name, value in completed.items() if given.get(name) != value]


def _listening(given: Mapping[str, str], controller: str) -> dict[str, str]:
    """The listeners with the controllers' among them, and a protocol for it where others have theirs."""
    listeners = given.get(_LISTENERS) or f"PLAINTEXT://{_HOST}:9092"
    if _address(listeners, controller) is not None:
        return {_LISTENERS: listeners}
    found = {_LISTENERS: f"{listeners},{controller}://{_HOST}:{_CONTROLLER_PORT}"}
    protocols = given.get(_PROTOCOLS)
    if protocols and f"{controller.upper()}:" not in protocols.upper():
        found[_PROTOCOLS] = f"{protocols},{controller}:PLAINTEXT"
    return found


def _address(listeners: str, name: str) -> str | None:
    for listener in listeners.split(","):
        found, _, address = listener.strip().partition("://")
        if found.upper() == name.upper():
            return address
    return None


def _port(listeners: str, controller: str) -> str:
    return (_address(listeners, controller) or "").rpartition(":")[2] or _CONTROLLER_PORT
