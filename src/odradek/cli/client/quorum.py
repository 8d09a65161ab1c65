"""`odradek quorum`: the controllers that keep the cluster's metadata, and how far each has read it."""

import argparse
import time

from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.table import show, show_fields
from odradek.cli.client.times import shown_duration

HELP = "the controllers that keep the metadata: status, replicas"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "quorum", HELP)
    group.action(
        "status",
        "who leads the quorum, since which epoch, and how far the metadata log is",
        _status,
        """
        quorum status
        """,
    )
    group.action(
        "replicas",
        "each controller and broker that reads the metadata log, and how far it is behind",
        _replicas,
        """
        quorum replicas
        """,
    )


def _status(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        cluster_id = admin.describe_cluster().cluster_id
        found = admin.describe_metadata_quorum()
    lags = [max(0, found.high_watermark - each.log_end_offset) for each in found.voters]
    fields: dict[str, object] = {
        "cluster": cluster_id,
        "leader": found.leader_id,
        "leader_epoch": found.leader_epoch,
        "high_watermark": found.high_watermark,
        "max_follower_lag": max(lags, default=0),
        "voters": [each.replica_id for each in found.voters],
        "observers": [each.replica_id for each in found.observers],
    }
    words = {field: field.replace("_", " ") for field in fields}
    show_fields(options, fields, words)
    return 0


def _replicas(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        found = admin.describe_metadata_quorum()
    now_ms = time.time_ns() // 1_000_000
    end = max((each.log_end_offset for each in (*found.voters, *found.observers)), default=0)
    rows = []
    for kind, replicas in (("voter", found.voters), ("observer", found.observers)):
        for each in replicas:
            caught_up_ms = each.last_caught_up_timestamp_ms
            rows.append(
                {
                    "node": each.replica_id,
                    "role": "leader" if each.replica_id == found.leader_id else kind,
                    "log_end": each.log_end_offset,
                    "lag": end - each.log_end_offset,
                    "last_fetch_ms": each.last_fetch_timestamp_ms,
                    "last_caught_up_ms": caught_up_ms,
                    "caught_up": None
                    if caught_up_ms is None
                    else f"{shown_duration(max(0, now_ms - caught_up_ms))} ago",
                    "directory": each.directory_id,
                }
            )
    if options.json:
        for row in rows:
            del row["caught_up"]
    columns = {"node": "NODE", "role": "ROLE", "log_end": "LOG END", "lag": "LAG", "caught_up": "CAUGHT UP"}
    show(options, rows, columns)
    return 0
