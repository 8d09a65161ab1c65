"""`kafka-reassign-partitions.sh`: replicas moved to other brokers and dirs: planned, begun, watched, cancelled."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

# Which flags go with which action, and which of them it needs.
_NEEDED = {
    "generate": ("broker-list", "topics-to-move-json-file"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_PERMITTED = {
    "generate": ("disable-rack-aware",),
    "execute": (
        "additional",
        "replica-alter-log-dirs-throttle",
        "throttle",
        "timeout",
        "disallow-replication-factor-change",
    ),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
_ALWAYS = ("bootstrap-server", "bootstrap-controller", "command-config")

OPTIONS = Options(
    "kafka-reassign-partitions.sh",
    "move replicas of partitions to other brokers",
    [
        options.BOOTSTRAP,
        value("bootstrap-controller", "HOST:PORT,...", "left out: brokers pass it on"),
        options.COMMAND_CONFIG,
        flag("generate", "print a plan that spreads topics over brokers"),
        flag("execute", "begin to move replicas as a plan says"),
        flag("verify", "how far that is; ends throttles when it is done"),
        flag("cancel", "what a plan has begun"),
        flag("list", "the moves that are under way"),
        value("topics-to-move-json-file", "FILE", '{"topics": [{"topic": "orders"}], "version": 1}'),
        value("reassignment-json-file", "FILE", "a plan as --generate prints it"),
        value("broker-list", "BROKERS", "the brokers to spread topics over, with commas between"),
        value("throttle", "BYTES", "how much may be moved between brokers in a second", "-1"),
        value("replica-alter-log-dirs-throttle", "BYTES", "how much may be moved between dirs in a second", "-1"),
        value("timeout", "MS", "how long to wait", "10000"),
        flag("additional", "although other moves are under way"),
        flag("preserve-throttles", "leave the throttles as they are"),
        flag("disable-rack-aware", "do not look at racks"),
        flag("disallow-replication-factor-change", "refuse plans with another number of replicas"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    action = _checked(given)
    from odradek.cli.kafka.java_errors import as_java
    from odradek.protocol.errors import KafkaError

    try:
        with opened_admin(given) as admin:
            _run(action, given, admin)
    except Misuse:
        raise
    except Refusal as refusal:
        print(f"Error: {refusal}")
        return 1
    except KafkaError as error:
        print(f"Error: {as_java(error)}")
        return 1
    return 0


def _checked(given: Given) -> str:
    actions = [action for action in _NEEDED if given.has(action)]
    if len(actions) != 1:
        raise Misuse("Command must include exactly one action: --generate, --execute, --verify, --cancel, --list")
    action = actions[0]
    given.require(*_NEEDED[action])
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        raise Misuse("Please specify either --bootstrap-server or --bootstrap-controller")
    allowed = (action, *_ALWAYS, *_NEEDED[action], *_PERMITTED[action])
    for name in given.names():
        if name not in allowed:
            raise Misuse(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    return action


def _run(action: str, given: Given, admin: "AdminClient") -> None:
    from odradek.cli.kafka import reassignment_plans, reassignment_progress, reassignment_start

    if action == "generate":
        reassignment_plans.generate(given, admin)
    elif action == "execute":
        reassignment_start.execute(given, admin)
    elif action == "verify":
        reassignment_progress.verify(given, admin)
    elif action == "cancel":
        reassignment_progress.cancel(given, admin)
    else:
        reassignment_progress.list_moves(admin)
