"""`kafka-transactions.sh`: transactions and their producers listed and described, and those that hang ended."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, value
from odradek.cli.kafka.subcommands import Subcommands
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

_PLACE = [value("topic", "TOPIC", "of the partition"), value("partition", "NUMBER", "of the topic")]
COMMANDS = Subcommands(
    "kafka-transactions.sh",
    "look after transactions",
    [options.BOOTSTRAP, options.COMMAND_CONFIG],
    {
        "list": [
            value("duration-filter", "MS", "only those that have been open for longer"),
            value("transactional-id-pattern", "REGEX", "only those whose ids match"),
        ],
        "describe": [value("transactional-id", "ID", "of the transaction")],
        "describe-producers": [*_PLACE, value("broker-id", "ID", "the broker to ask, else the leader")],
        "abort": [
            *_PLACE,
            value("start-offset", "OFFSET", "where the transaction begins"),
            value("producer-id", "ID", "for brokers older than 3.0"),
            value("producer-epoch", "EPOCH", "for brokers older than 3.0"),
            value("coordinator-epoch", "EPOCH", "for brokers older than 3.0"),
        ],
        "find-hanging": [
            *_PLACE,
            value("broker-id", "ID", "the broker whose partitions are looked at"),
            value("max-transaction-timeout", "MINUTES", "how old a transaction must be", "15"),
        ],
        "forceTerminateTransaction": [value("transactionalId", "ID", "of the transaction to end")],
    },
    {},
    complaint="{prog}.sh: error: {reason}",
)
_NEEDED = {
    "describe": ["transactional-id"],
    "describe-producers": ["topic", "partition"],
    "abort": ["topic", "partition"],
    "forceTerminateTransaction": ["transactionalId"],
}


@tool
def main(arguments: Sequence[str]) -> int:
    command, given = COMMANDS.parse(arguments)
    COMMANDS.require(given, "bootstrap-server", *_NEEDED.get(command, ()))
    from odradek.cli.kafka import hanging_transactions, transaction_reports

    run = {
        "list": transaction_reports.list_transactions,
        "describe": transaction_reports.describe,
        "describe-producers": transaction_reports.describe_producers,
        "abort": hanging_transactions.abort,
        "find-hanging": hanging_transactions.find,
        "forceTerminateTransaction": _force,
    }[command]
    if command == "find-hanging" and not given.has("topic") and not given.has("broker-id"):
        raise Refusal(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if command == "abort":
        hanging_transactions.check_abort(given)
    with opened_admin(given) as admin:
        run(given, admin)
    return 0


def _force(given: Given, admin: "AdminClient") -> None:
    from odradek.cli.kafka.java_errors import words
    from odradek.protocol.errors import KafkaError

    name = given.text("transactionalId")
    try:
        admin.force_terminate_transaction(name)
    except KafkaError as error:
        raise Refusal(f"Failed to force terminate transactionalId `{name}`: {words(error)}") from None
