"""The node that `odradek start` runs where no config describes one: broker and controller in one process, alone.

A file that names a node (its roles, its id, its quorum) is taken as it is, and has to be whole. Any other file is a few
configs on top of this one.
"""

import os
from collections.abc import Mapping

from odradek.cli.failure import Failure
from odradek.cli.server_properties import read_properties
from odradek.config.broker import TABLE
from odradek.config.errors import ConfigError
from odradek.config.legacy_cluster import refuse_legacy_cluster
from odradek.config.listeners import PROTOCOLS
from odradek.config.whole_node import QUORUM, lacking

DEFAULT_LISTEN = ("127.0.0.1", 9092)
CONTROLLER_ADDRESS = "127.0.0.1:0"  # nobody else looks for it: any free port does

# One node serves all of it: Kafka's defaults ask for three replicas of its internal topics.
DEFAULTS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}

_OF_A_NODE = ("process.roles", "node.id", "broker.id", "controller.listener.names", *QUORUM, "zookeeper.connect")


def describes_a_node(given: Mapping[str, str]) -> bool:
    return any(name in given for name in _OF_A_NODE)


def refuse_half_a_node(values: Mapping[str, str], path: str) -> None:
    """Failure for a file from which no node can be made, even with what the command adds."""
    try:
        refuse_legacy_cluster(values, path)
    except ConfigError as error:
        raise Failure(str(error)) from None
    if values.get("process.roles", "").strip() in ("broker", "controller"):
        return  # of half a node, which the server refuses whatever else is missing
    absent = lacking(values)
    if absent:
        named = next(name for name in _OF_A_NODE if name in values)
        raise Failure(
            f"{path} names {named}, so it has to describe the whole node: add {' and '.join(absent)}; a file of a few "
            f"configs for the built-in node has none of {', '.join(_OF_A_NODE[:-1])}"
        )


def refuse_foreign_file(given: Mapping[str, str], path: str) -> None:
    """Failure for a file that has nothing to do with a broker: each of its lines would be a warning, and no more."""
    known = ("listener.name.", "config.providers")  # whose names go on as their users like
    if given and not any(name in TABLE.rows or name.startswith(known) for name in given):
        raise Failure(f"{path}: no line of it is a config of a broker, beginning with {next(iter(given))!r}")


def completed(values: Mapping[str, str], release: str | None) -> dict[str, str]:
    """The built-in node with these configs, and where it serves and keeps its data if they do not say."""
    for name in ("listeners", "log.dirs", "log.dir"):
        if name in values and not values[name].strip():
            raise Failure(f"{name} is set to nothing: give it a value, or leave it out")
    node = {**DEFAULTS, **values}
    if "log.dirs" not in node and "log.dir" not in node:
        node["log.dirs"] = absolute(default_data_dir())
    node.setdefault("listeners", "PLAINTEXT://{}:{}".format(*DEFAULT_LISTEN))
    return {
        **_quorum(release or _release_of(node), node["node.id"]),
        **_between_brokers(node),
        **_with_controller(node),
    }


def _between_brokers(node: Mapping[str, str]) -> dict[str, str]:
    """The listener where brokers would meet is the first one, unless somebody says or it is Kafka's own choice."""
    names = _listener_names(node)
    is_said = "inter.broker.listener.name" in node or "security.inter.broker.protocol" in node
    return {} if is_said or "PLAINTEXT" in names else {"inter.broker.listener.name": names[0]}


def _listener_names(node: Mapping[str, str]) -> list[str]:
    return [address.partition("://")[0].strip().upper() for address in node["listeners"].split(",")]


def _with_controller(node: dict[str, str]) -> dict[str, str]:
    """Whoever says where clients are served need not think of the controller, which no client sees."""
    controllers = [name.strip().upper() for name in node["controller.listener.names"].split(",")]
    if set(_listener_names(node)) & set(controllers):
        return node
    listeners = f"{node['listeners']},{controllers[0]}://{CONTROLLER_ADDRESS}"
    protocols = ",".join(f"{name}:{name}" for name in PROTOCOLS)
    return {
        "listener.security.protocol.map": f"{controllers[0]}:PLAINTEXT,{protocols}",
        **node,
        "listeners": listeners,
    }


def _quorum(release: str | None, node_id: str) -> dict[str, str]:
    """3.3 names the voters in the file; later ones find them in the log, and need a way to a first controller."""
    if release == "3.3":
        return {"controller.quorum.voters": f"{node_id}@127.0.0.1:9093"}
    return {
        "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }


def _release_of(node: Mapping[str, str]) -> str | None:
    """The release at which a dir was formatted that is there already; a 3.3 gave it no id."""
    from odradek.broker.node_dirs import dirs_of
    from odradek.broker.start_refused import BadConfig

    try:
        path = os.path.join(dirs_of(node)[1], "meta.properties")
    except BadConfig as error:
        raise Failure(str(error)) from None
    if not os.access(path, os.R_OK):
        return None  # whoever opens the dir says what is wrong with it
    return "4.3" if "directory.id" in read_properties(path) else "3.3"


def default_data_dir() -> str:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "odradek", "data")


def absolute(data: str) -> str:
    """The dir that `--data` names."""
    if not data.strip():
        raise Failure("--data: it names no dir; without --data it is " + default_data_dir())
    if "," in data:
        raise Failure(f"--data {data}: it is one dir, and its name has no comma; several are --override log.dirs=A,B")
    try:
        return os.path.abspath(data)
    except OSError as error:
        raise Failure(f"--data {data}: the working directory is not there: {error.strerror}") from None
