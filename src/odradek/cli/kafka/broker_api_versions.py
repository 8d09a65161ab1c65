"""`kafka-broker-api-versions.sh`: which requests each broker takes, and in which versions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.cli.kafka import options
from odradek.cli.kafka.options import Misuse, Options
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.channel.node import Node
    from odradek.client.admin.features import VersionRange
    from odradek.protocol.apis import Api

OPTIONS = Options(
    "kafka-broker-api-versions.sh",
    "print which requests brokers take",
    [options.BOOTSTRAP, options.COMMAND_CONFIG],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    if not given.has("bootstrap-server"):
        raise Misuse('Missing required argument "[bootstrap-server]"')
    with opened_admin(given) as admin:
        for node in admin.describe_cluster().nodes:
            print(_shown(node, admin.describe_api_versions(node_id=node.id)))
    return 0


def _shown(node: "Node", there: "Mapping[int, VersionRange]") -> str:
    """Those that clients know of, then what only the broker knows."""
    from odradek.protocol import apis

    known = [api for api in apis.ALL if "BROKER" in api.listeners]
    lines = [f"\t{api.message}({api.key}): {_versions(api, there.get(api.key))}" for api in known]
    numbers = {api.key for api in known}
    lines += [f"\tUNKNOWN({key}): {_range(*told)}" for key, told in there.items() if key not in numbers]
    head = f"{node.host}:{node.port} (id: {node.id} rack: {node.rack or 'null'} isFenced: false) -> (\n"
    return head + ",\n".join(lines) + "\n)"


def _versions(api: "Api", told: "VersionRange | None") -> str:
    if told is None:
        return "UNSUPPORTED"
    best = min(told.high, api.versions.stop - 1)
    usable = best if best >= max(told.low, api.versions.start) else None
    return f"{_range(*told)} [{'unusable: node too new' if usable is None else f'usable: {usable}'}]"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
