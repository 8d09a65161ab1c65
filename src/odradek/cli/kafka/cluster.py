"""`kafka-cluster.sh`: the cluster's id, its brokers, and brokers that are gone for good."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import flag, value
from odradek.cli.kafka.subcommands import Subcommands
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

_COMMON = [
    options.BOOTSTRAP,
    value("bootstrap-controller", "HOST:PORT,...", "left out: brokers tell the same"),
    value("config", "FILE", "a file of properties for the client"),
    value("command-config", "FILE", "the same as --config"),
]
COMMANDS = Subcommands(
    "kafka-cluster.sh",
    "the id of a cluster, and its brokers",
    [],
    {
        "cluster-id": _COMMON,
        "unregister": [*_COMMON, value("id", "ID", "the broker to forget")],
        "list-endpoints": [*_COMMON, flag("include-fenced-brokers", "brokers that take no requests, too")],
    },
    {"bootstrap-server": "b", "bootstrap-controller": "C", "config": "c", "id": "i"},
)


@tool
def main(arguments: Sequence[str]) -> int:
    command, given = COMMANDS.parse(arguments)
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        COMMANDS.fail("one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required")
    if command == "unregister":
        COMMANDS.require(given, "id")
    broker_id = COMMANDS.integer(given, "id") if command == "unregister" else None
    which = "config" if given.has("config") else "command-config"
    with opened_admin(given, config_option=which) as admin:
        if broker_id is not None:
            _unregister(admin, broker_id)
        elif command == "cluster-id":
            print(f"Cluster ID: {admin.describe_cluster().cluster_id}")
        else:
            _list_endpoints(admin, has_fenced=given.has("include-fenced-brokers"))
    return 0


def _unregister(admin: "AdminClient", broker_id: int) -> None:
    from odradek.cli.kafka.java_errors import as_java
    from odradek.protocol.errors import KafkaError, UnsupportedVersion

    try:
        admin.unregister_broker(broker_id)
    except UnsupportedVersion:
        raise Refusal("The target cluster does not support the broker unregistration API.") from None
    except KafkaError as error:
        raise Refusal(as_java(error)) from None
    print(f"Broker {broker_id} is no longer registered.")


def _list_endpoints(admin: "AdminClient", *, has_fenced: bool) -> None:
    from odradek.cli.kafka.columns import line, widest

    cluster = admin.describe_cluster(include_fenced_brokers=has_fenced)
    width = widest(4, (node.host for node in cluster.nodes))
    widths = [10, width, 10, 10, 10, 15]
    print(line(widths, ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"]))
    for node in cluster.nodes:
        state = "fenced" if node.id in cluster.fenced else "unfenced"
        print(line(widths, [node.id, node.host, node.port, node.rack or "null", state, "broker"]))
