"""`kafka-reassign-partitions.sh --execute`: begins to move replicas as a plan says."""

import time
from collections.abc import Mapping, Sequence

from odradek.cli.failure import Refusal
from odradek.cli.kafka.java_errors import words
from odradek.cli.kafka.options import Given
from odradek.cli.kafka.reassignment_plans import (
    Dirs,
    Plan,
    Replicas,
    as_json,
    current_dirs,
    current_replicas,
    read_plan,
)
from odradek.cli.kafka.reassignment_throttles import DIR_RATE, FOLLOWER_RATE, LEADER_RATE, limit_brokers, limit_topics
from odradek.client.admin.admin_client import AdminClient
from odradek.protocol.errors import ReplicaNotAvailable
from odradek.protocol.topic_partition import TopicPartition


def execute(given: Given, admin: AdminClient) -> None:
    plan = read_plan(given.text("reassignment-json-file"))
    current = _checked(given, admin, plan)
    before = {place: current.get(place, ()) for place in plan.replicas}
    print(f"Current partition replica assignment\n\n{as_json(before, current_dirs(admin, before))}\n")
    print("Save this to use as the --reassignment-json-file option during rollback")
    _throttle(given, admin, plan, before)
    done = admin.alter_partition_reassignments(
        plan.replicas, allow_replication_factor_change=not given.has("disallow-replication-factor-change")
    )
    if done.errors:
        lines = [f"{place}: {words(error)}" for place, error in sorted(done.errors.items(), key=lambda each: each[0])]
        raise Refusal("\n".join(["Error reassigning partition(s):", *lines]))
    places = sorted(plan.replicas)
    many = "" if len(places) == 1 else "s"
    print(f"Successfully started partition reassignment{many} for {','.join(map(str, places))}")
    if plan.dirs:
        _move_between_dirs(admin, plan.dirs, (given.integer("timeout") or 0) / 1000)


def _checked(given: Given, admin: AdminClient, plan: Plan) -> Replicas:
    """The replicas as they are; Refusal for a plan that cannot be."""
    if not given.has("additional") and admin.list_partition_reassignments():
        raise Refusal(
            "Cannot execute because there is an existing partition assignment.  Use --additional to override this and "
            "create a new partition assignment in addition to the existing one. The --additional flag can also be used "
            "to change the throttle by resubmitting the current reassignment."
        )
    there = {node.id for node in admin.describe_cluster().nodes}
    for replicas in plan.replicas.values():
        for broker in replicas:
            if broker not in there:
                raise Refusal(f"Unknown broker id {broker}")
    return current_replicas(admin, (place.topic for place in plan.replicas))


def _throttle(given: Given, admin: AdminClient, plan: Plan, before: Mapping[TopicPartition, Sequence[int]]) -> None:
    between, within = (given.integer(name) for name in ("throttle", "replica-alter-log-dirs-throttle"))
    has_between, has_within = (rate is not None and rate >= 0 for rate in (between, within))
    if has_between or has_within:
        print(
            "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is "
            "removed."
        )
    if has_between:
        limit_topics(admin, before, plan.replicas)
        brokers = {broker for each in (before, plan.replicas) for replicas in each.values() for broker in replicas}
        limit_brokers(admin, sorted(brokers), (LEADER_RATE, FOLLOWER_RATE), between or 0)
        print(f"The inter-broker throttle limit was set to {between} B/s")
    if has_within:
        limit_brokers(admin, sorted({replica.broker_id for replica in plan.dirs}), (DIR_RATE,), within or 0)
        print(f"The replica-alter-dir throttle limit was set to {within} B/s")


def _move_between_dirs(admin: AdminClient, dirs: Dirs, timeout: float) -> None:
    """A broker cannot put a replica into a dir before it has heard that it shall have one."""
    deadline = time.monotonic() + timeout
    left = dict(dirs)
    while True:
        done = admin.alter_replica_log_dirs(left)
        failed = [error for error in done.errors.values() if not isinstance(error, ReplicaNotAvailable)]
        if failed:
            raise failed[0]
        left = {replica: dirs[replica] for replica in done.errors}
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    if left:
        raise Refusal(f"Timed out before log directory moves could be started for {_named(left)}")
    many = "" if len(dirs) == 1 else "s"
    print(f"Successfully started log directory move{many} for: {_named(dirs)}")


def _named(dirs: Dirs) -> str:
    return ",".join(f"{topic}-{partition}-{broker}" for topic, partition, broker in sorted(dirs))
