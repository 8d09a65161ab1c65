"""`kafka-metadata-quorum.sh`: the controllers that keep the metadata, how far each is, and who has a vote."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Failure, Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, flag, value
from odradek.cli.kafka.subcommands import Subcommands
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.quorum import QuorumInfo, ReplicaState

_NO_DIRECTORY = "A" * 22
COMMANDS = Subcommands(
    "kafka-metadata-quorum.sh",
    "describe the quorum of controllers, or take a vote away",
    [
        options.BOOTSTRAP,
        value("bootstrap-controller", "HOST:PORT,...", "left out: brokers pass it on"),
        options.COMMAND_CONFIG,
    ],
    {
        "describe": [
            flag("status", "who leads, and who has a vote"),
            flag("replication", "how far each controller and broker is"),
            flag("human-readable", "times as how long ago"),
        ],
        "add-controller": [flag("dry-run", "do nothing")],
        "remove-controller": [
            value("controller-id", "ID", "whose vote is taken away"),
            value("controller-directory-id", "ID", "the id of its metadata dir"),
            flag("dry-run", "say what would be done"),
        ],
    },
    {"controller-id": "i", "controller-directory-id": "d"},
)


@tool
def main(arguments: Sequence[str]) -> int:
    command, given = COMMANDS.parse(arguments)
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        COMMANDS.fail("one of the arguments --bootstrap-server --bootstrap-controller is required")
    if command == "add-controller":
        raise Failure(
            "add-controller is not served: a controller of ours asks for its vote itself, or is formatted with it"
        )
    if command == "remove-controller":
        COMMANDS.require(given, "controller-directory-id", "controller-id")
        COMMANDS.integer(given, "controller-id")
    else:
        _check_describe(given)
    with opened_admin(given) as admin:
        if command == "remove-controller":
            _remove(given, admin)
        elif given.has("status"):
            _print_status(admin)
        else:
            _print_replication(admin, is_human_readable=given.has("human-readable"))
    return 0


def _check_describe(given: Given) -> None:
    if given.has("status") and given.has("replication"):
        raise Refusal("Only one of --status or --replication should be specified with describe sub-command")
    if given.has("human-readable") and not given.has("replication"):
        raise Refusal("The option --human-readable is only supported along with --replication")
    if not given.has("status") and not given.has("replication"):
        raise Refusal("One of --status or --replication must be specified with describe sub-command")


def _remove(given: Given, admin: "AdminClient") -> None:
    from odradek.cli.kafka.java_errors import as_java
    from odradek.protocol.errors import KafkaError

    number, directory = COMMANDS.integer(given, "controller-id") or 0, given.text("controller-directory-id")
    if number < 0:
        raise Refusal(f"Invalid negative --controller-id: {number}")
    if not given.has("dry-run"):
        try:
            admin.remove_raft_voter(number, directory)
        except ValueError:
            raise Refusal(f"Failed to parse --controller-directory-id: {directory} is no id") from None
        except KafkaError as error:
            raise Refusal(as_java(error)) from None
    would = "DRY RUN of removing" if given.has("dry-run") else "Removed"
    print(f"{would} KRaft controller {number} with directory id {directory}")


def _print_status(admin: "AdminClient") -> None:
    quorum = admin.describe_metadata_quorum()
    leader = next(voter for voter in quorum.voters if voter.replica_id == quorum.leader_id)
    slowest = min(quorum.voters, key=lambda voter: voter.log_end_offset)
    rows = [
        ("ClusterId", admin.describe_cluster().cluster_id),
        ("LeaderId", quorum.leader_id),
        ("LeaderEpoch", quorum.leader_epoch),
        ("HighWatermark", quorum.high_watermark),
        ("MaxFollowerLag", leader.log_end_offset - slowest.log_end_offset),
        ("MaxFollowerLagTimeMs", _lag_ms(leader, slowest)),
        ("CurrentVoters", _replicas(quorum, quorum.voters)),
        ("CurrentObservers", _replicas(quorum, quorum.observers)),
    ]
    for name, shown in rows:
        print(f"{name + ':':<24}{shown}")


def _lag_ms(leader: "ReplicaState", slowest: "ReplicaState") -> int:
    """-1 if it is not known; 0 if nobody is behind."""
    if slowest is leader:
        return 0
    if leader.last_caught_up_timestamp_ms is None or slowest.last_caught_up_timestamp_ms is None:
        return -1
    return leader.last_caught_up_timestamp_ms - slowest.last_caught_up_timestamp_ms


def _replicas(quorum: "QuorumInfo", replicas: "Sequence[ReplicaState]") -> str:
    return f"[{', '.join(_replica(quorum, replica) for replica in replicas)}]"


def _replica(quorum: "QuorumInfo", replica: "ReplicaState") -> str:
    """What is not known is left out."""
    parts = [f'"id": {replica.replica_id}']
    if replica.directory_id != _NO_DIRECTORY:
        parts.append(f'"directoryId": "{replica.directory_id}"')
    endpoints = quorum.nodes.get(replica.replica_id, ())
    if endpoints:
        listed = ", ".join(f'"{name}://{_host(host)}:{port}"' for name, host, port in endpoints)
        parts.append(f'"endpoints": [{listed}]')
    return "{" + ", ".join(parts) + "}"


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _print_replication(admin: "AdminClient", *, is_human_readable: bool) -> None:
    from odradek.cli.kafka.tabbed import print_table

    quorum = admin.describe_metadata_quorum()
    leader = next(voter for voter in quorum.voters if voter.replica_id == quorum.leader_id)
    rows = [_row(leader, leader, "Leader", is_human_readable)]
    for status, replicas in (("Follower", quorum.voters), ("Observer", quorum.observers)):
        rows += [_row(each, leader, status, is_human_readable) for each in replicas if each is not leader]
    names = ["NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"]
    print_table(names, rows)


def _row(replica: "ReplicaState", leader: "ReplicaState", status: str, is_human_readable: bool) -> list[str]:
    times = [replica.last_fetch_timestamp_ms, replica.last_caught_up_timestamp_ms]
    return [
        str(replica.replica_id),
        replica.directory_id,
        str(replica.log_end_offset),
        str(leader.log_end_offset - replica.log_end_offset),
        *(_time(each, is_human_readable) for each in times),
        status,
    ]


def _time(timestamp_ms: int | None, is_human_readable: bool) -> str:
    if timestamp_ms is None or not is_human_readable:
        return str(-1 if timestamp_ms is None else timestamp_ms)
    import time

    return f"{max(0, time.time_ns() // 1_000_000 - timestamp_ms)} ms ago"
