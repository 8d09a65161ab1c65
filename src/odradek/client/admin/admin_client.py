"""The admin client for programs that call and wait."""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from itertools import count
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from odradek.client.admin.asking import Asker
from odradek.client.admin.later import (
    acls,
    cluster,
    configs,
    credentials,
    delegation_tokens,
    elections,
    features,
    groups,
    log_dirs,
    offsets,
    on_first_use,
    quorum,
    quotas,
    reassignments,
    share_groups,
    streams_groups,
    topics,
    transactions,
)
from odradek.client.admin.session import admin_session
from odradek.client.host.thread_host import ThreadHost
from odradek.client.settings import client_config
from odradek.config.admin import TABLE

if TYPE_CHECKING:
    from typing import Unpack

    from odradek.client.config_types import AdminConfig

P = ParamSpec("P")
R = TypeVar("R")

CLOSE_TIMEOUT = 5.0

_numbers = count(1)


def _blocking(
    operation: Callable[Concatenate[Asker, P], Coroutine[object, None, R]],
) -> "Callable[Concatenate[AdminClient, P], R]":
    """The same operation as a call that returns when it is done."""

    def method(operation: Callable[Concatenate[Asker, P], Coroutine[object, None, R]]) -> Callable[..., R]:
        @wraps(operation)
        def call(client: "AdminClient", /, *args: P.args, **kwargs: P.kwargs) -> R:
            return client._host.run(lambda asker: operation(asker, *args, **kwargs))

        return call

    made: Callable[Concatenate[AdminClient, P], R] = on_first_use(operation, method)
    return made


class AdminClient:
    """One method for each operation, in any thread.

    with AdminClient(bootstrap_servers="localhost:9092") as admin:
        admin.create_topic("orders", partitions=3)
        for name in admin.list_topics(): ...

    Configs are Kafka's: as keywords with underscores, or in a mapping with their own names. A `timeout` is in seconds,
    and `default.api.timeout.ms` where none is given. Where an operation is about several things, each has an outcome of
    its own (`Results`); a failure of the whole is raised.
    """

    def __init__(self, config: Mapping[str, object] | None = None, /, **configs: "Unpack[AdminConfig]") -> None:
        opened = admin_session(client_config(TABLE, config, configs))
        self._host = ThreadHost(f"odradek-admin-{next(_numbers)}", opened)
        self._host.watch_over(self)

    create_topics = _blocking(topics.create_topics)
    create_topic = _blocking(topics.create_topic)
    delete_topics = _blocking(topics.delete_topics)
    create_partitions = _blocking(topics.create_partitions)
    list_topics = _blocking(topics.list_topics)
    describe_topics = _blocking(topics.describe_topics)
    list_offsets = _blocking(topics.list_offsets)
    delete_records = _blocking(topics.delete_records)

    describe_cluster = _blocking(cluster.describe_cluster)

    describe_configs = _blocking(configs.describe_configs)
    incremental_alter_configs = _blocking(configs.incremental_alter_configs)
    list_config_resources = _blocking(configs.list_config_resources)

    list_groups = _blocking(groups.list_groups)
    describe_groups = _blocking(groups.describe_groups)
    delete_groups = _blocking(groups.delete_groups)
    remove_members_from_group = _blocking(groups.remove_members_from_group)
    list_group_offsets = _blocking(offsets.list_group_offsets)
    alter_group_offsets = _blocking(offsets.alter_group_offsets)
    delete_group_offsets = _blocking(offsets.delete_group_offsets)

    describe_acls = _blocking(acls.describe_acls)
    create_acls = _blocking(acls.create_acls)
    delete_acls = _blocking(acls.delete_acls)
    describe_client_quotas = _blocking(quotas.describe_client_quotas)
    alter_client_quotas = _blocking(quotas.alter_client_quotas)
    describe_user_scram_credentials = _blocking(credentials.describe_user_scram_credentials)
    alter_user_scram_credentials = _blocking(credentials.alter_user_scram_credentials)
    create_delegation_token = _blocking(delegation_tokens.create_delegation_token)
    renew_delegation_token = _blocking(delegation_tokens.renew_delegation_token)
    expire_delegation_token = _blocking(delegation_tokens.expire_delegation_token)
    describe_delegation_token = _blocking(delegation_tokens.describe_delegation_token)

    describe_log_dirs = _blocking(log_dirs.describe_log_dirs)
    describe_replica_log_dirs = _blocking(log_dirs.describe_replica_log_dirs)
    alter_replica_log_dirs = _blocking(log_dirs.alter_replica_log_dirs)

    list_transactions = _blocking(transactions.list_transactions)
    describe_transactions = _blocking(transactions.describe_transactions)
    describe_producers = _blocking(transactions.describe_producers)
    abort_transaction = _blocking(transactions.abort_transaction)
    fence_producers = _blocking(transactions.fence_producers)
    complete_transactions = _blocking(transactions.complete_transactions)
    force_terminate_transaction = _blocking(transactions.force_terminate_transaction)

    elect_leaders = _blocking(elections.elect_leaders)
    alter_partition_reassignments = _blocking(reassignments.alter_partition_reassignments)
    list_partition_reassignments = _blocking(reassignments.list_partition_reassignments)
    describe_metadata_quorum = _blocking(quorum.describe_metadata_quorum)
    add_raft_voter = _blocking(quorum.add_raft_voter)
    remove_raft_voter = _blocking(quorum.remove_raft_voter)
    unregister_broker = _blocking(quorum.unregister_broker)
    describe_api_versions = _blocking(features.describe_api_versions)
    describe_features = _blocking(features.describe_features)
    update_features = _blocking(features.update_features)

    describe_share_groups = _blocking(share_groups.describe_share_groups)
    list_share_group_offsets = _blocking(share_groups.list_share_group_offsets)
    alter_share_group_offsets = _blocking(share_groups.alter_share_group_offsets)
    delete_share_group_offsets = _blocking(share_groups.delete_share_group_offsets)
    describe_streams_groups = _blocking(streams_groups.describe_streams_groups)

    def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        self._host.close(int(timeout * 1000))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
