"""How far the moves of `kafka-reassign-partitions.sh` are, and those that are cancelled."""

from collections.abc import Sequence

from odradek.cli.failure import Refusal
from odradek.cli.kafka.java_errors import words
from odradek.cli.kafka.options import Given
from odradek.cli.kafka.reassignment_plans import Dirs, Plan, read_plan
from odradek.cli.kafka.reassignment_throttles import clear
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.log_dirs import ReplicaLogDirInfo, TopicPartitionReplica
from odradek.protocol.topic_partition import TopicPartition


def verify(given: Given, admin: AdminClient) -> None:
    plan = read_plan(given.text("reassignment-json-file"))
    moving = admin.list_partition_reassignments(plan.replicas)
    names = {place.topic for place in plan.replicas}
    described = admin.describe_topics(names).values_ok
    print("Status of partition reassignment:")
    for place in sorted(plan.replicas):
        there: Sequence[int] = ()
        if place.topic in described and place.partition < len(described[place.topic].partitions):
            there = described[place.topic].partitions[place.partition].replicas
        print(_status(place, there, plan.replicas[place], is_moving=place in moving))
    print()
    are_dirs_done = _tell_of_dirs(admin, plan.dirs)
    if not moving and are_dirs_done and not given.has("preserve-throttles"):
        clear(admin, plan.replicas)


def _status(place: TopicPartition, there: Sequence[int], wanted: Sequence[int], *, is_moving: bool) -> str:
    if is_moving:
        return f"Reassignment of partition {place} is still in progress."
    if tuple(there) == tuple(wanted):
        return f"Reassignment of partition {place} is completed."
    return (
        f"There is no active reassignment of partition {place}, but replica set is {_numbers(there)} rather than "
        f"{_numbers(wanted)}."
    )


def _numbers(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _tell_of_dirs(admin: AdminClient, dirs: Dirs) -> bool:
    """Whether no replica is on its way to another dir any more."""
    if not dirs:
        return True
    found = admin.describe_replica_log_dirs(dirs)
    for replica in sorted(dirs):
        print(_dir_status(replica, found[replica], dirs[replica]))
    return all(info.future_log_dir is None for info in found.values())


def _dir_status(replica: TopicPartitionReplica, info: ReplicaLogDirInfo, wanted: str) -> str:
    name = f"{replica.topic}-{replica.partition}-{replica.broker_id}"
    if info.current_log_dir is None:
        place = f"{replica.topic}-{replica.partition}"
        return f"Partition {place} is not found in any live log dir on broker {replica.broker_id}."
    if info.current_log_dir == wanted and info.future_log_dir is None:
        return f"Reassignment of replica {name} completed successfully."
    if info.future_log_dir == wanted:
        return f"Reassignment of replica {name} is still in progress."
    if info.future_log_dir is not None:
        return (
            f"Partition {replica.topic}-{replica.partition} on broker {replica.broker_id} is being moved to log dir "
            f"{info.future_log_dir} instead of {wanted}."
        )
    return (
        f"Partition {replica.topic}-{replica.partition} on broker {replica.broker_id} is not being moved from log dir "
        f"{info.current_log_dir} to {wanted}."
    )


def cancel(given: Given, admin: AdminClient) -> None:
    plan = read_plan(given.text("reassignment-json-file"))
    _cancel_moves(admin, plan)
    _cancel_dir_moves(admin, plan.dirs)
    if given.has("preserve-throttles"):
        print()
    else:
        clear(admin, plan.replicas)


def _cancel_moves(admin: AdminClient, plan: Plan) -> None:
    moving = sorted(admin.list_partition_reassignments(plan.replicas))
    if not moving:
        print("None of the specified partition reassignments are active.")
        return
    done = admin.alter_partition_reassignments(dict.fromkeys(moving))
    if done.errors:
        lines = [f"{place}: {words(error)}" for place, error in done.errors.items()]
        raise Refusal("\n".join(["Error cancelling partition reassignment(s) for:", *lines]))
    many = "" if len(moving) == 1 else "s"
    print(f"Successfully cancelled partition reassignment{many} for: {','.join(map(str, moving))}")


def _cancel_dir_moves(admin: AdminClient, dirs: Dirs) -> None:
    """A replica stays where it is if it is told to go there."""
    found = admin.describe_replica_log_dirs(dirs).values_ok if dirs else {}
    back = {
        replica: str(info.current_log_dir)
        for replica, info in found.items()
        if info.future_log_dir is not None and info.future_log_dir == dirs[replica]
    }
    if not back:
        print("None of the specified partition moves are active.", end="")
        return
    admin.alter_replica_log_dirs(back).raise_any()
    names = ",".join(f"{topic}-{partition}-{broker}" for topic, partition, broker in sorted(back))
    print(f"Successfully cancelled log directory move{'' if len(back) == 1 else 's'} for: {names}", end="")


def list_moves(admin: AdminClient) -> None:
    moves = admin.list_partition_reassignments()
    if not moves:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for place in sorted(moves):
        replicas, adding, removing = map(_numbers, moves[place])
        line = f"{place}: replicas: {replicas}."
        line += f" adding: {adding}." if adding else ""
        print(line + (f" removing: {removing}." if removing else ""))
