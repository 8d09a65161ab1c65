"""The admin client for asyncio programs."""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
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
from odradek.client.host.asyncio_host import AsyncioHost
from odradek.client.settings import client_config
from odradek.config.admin import TABLE

if TYPE_CHECKING:
    from typing import Unpack

    from odradek.client.config_types import AdminConfig

P = ParamSpec("P")
R = TypeVar("R")

CLOSE_TIMEOUT = 5.0


def _awaited(
    operation: Callable[Concatenate[Asker, P], Coroutine[object, None, R]],
) -> "Callable[Concatenate[AdminClient, P], Coroutine[object, None, R]]":
    """The same operation, to be awaited in a program of asyncio."""

    def method(
        operation: Callable[Concatenate[Asker, P], Coroutine[object, None, R]],
    ) -> Callable[..., Coroutine[object, None, R]]:
        @wraps(operation)
        async def call(client: "AdminClient", /, *args: P.args, **kwargs: P.kwargs) -> R:
            return await client._host.run(lambda asker: operation(asker, *args, **kwargs))

        return call

    made: Callable[Concatenate[AdminClient, P], Coroutine[object, None, R]] = on_first_use(operation, method)
    return made


class AdminClient:
    """As `odradek.AdminClient`, with methods to await; no thread is started.

    async with AdminClient(bootstrap_servers="localhost:9092") as admin:
        await admin.create_topic("orders", partitions=3)
    """

    def __init__(self, config: Mapping[str, object] | None = None, /, **configs: "Unpack[AdminConfig]") -> None:
        self._host = AsyncioHost(admin_session(client_config(TABLE, config, configs)))

    create_topics = _awaited(topics.create_topics)
    create_topic = _awaited(topics.create_topic)
    delete_topics = _awaited(topics.delete_topics)
    create_partitions = _awaited(topics.create_partitions)
    list_topics = _awaited(topics.list_topics)
    describe_topics = _awaited(topics.describe_topics)
    list_offsets = _awaited(topics.list_offsets)
    delete_records = _awaited(topics.delete_records)

    describe_cluster = _awaited(cluster.describe_cluster)

    describe_configs = _awaited(configs.describe_configs)
    incremental_alter_configs = _awaited(configs.incremental_alter_configs)
    list_config_resources = _awaited(configs.list_config_resources)

    list_groups = _awaited(groups.list_groups)
    describe_groups = _awaited(groups.describe_groups)
    delete_groups = _awaited(groups.delete_groups)
    remove_members_from_group = _awaited(groups.remove_members_from_group)
    list_group_offsets = _awaited(offsets.list_group_offsets)
    alter_group_offsets = _awaited(offsets.alter_group_offsets)
    delete_group_offsets = _awaited(offsets.delete_group_offsets)

    describe_acls = _awaited(acls.describe_acls)
    create_acls = _awaited(acls.create_acls)
    delete_acls = _awaited(acls.delete_acls)
    describe_client_quotas = _awaited(quotas.describe_client_quotas)
    alter_client_quotas = _awaited(quotas.alter_client_quotas)
    describe_user_scram_credentials = _awaited(credentials.describe_user_scram_credentials)
    alter_user_scram_credentials = _awaited(credentials.alter_user_scram_credentials)
    create_delegation_token = _awaited(delegation_tokens.create_delegation_token)
    renew_delegation_token = _awaited(delegation_tokens.renew_delegation_token)
    expire_delegation_token = _awaited(delegation_tokens.expire_delegation_token)
    describe_delegation_token = _awaited(delegation_tokens.describe_delegation_token)

    describe_log_dirs = _awaited(log_dirs.describe_log_dirs)
    describe_replica_log_dirs = _awaited(log_dirs.describe_replica_log_dirs)
    alter_replica_log_dirs = _awaited(log_dirs.alter_replica_log_dirs)

    list_transactions = _awaited(transactions.list_transactions)
    describe_transactions = _awaited(transactions.describe_transactions)
    describe_producers = _awaited(transactions.describe_producers)
    abort_transaction = _awaited(transactions.abort_transaction)
    fence_producers = _awaited(transactions.fence_producers)
    complete_transactions = _awaited(transactions.complete_transactions)
    force_terminate_transaction = _awaited(transactions.force_terminate_transaction)

    elect_leaders = _awaited(elections.elect_leaders)
    alter_partition_reassignments = _awaited(reassignments.alter_partition_reassignments)
    list_partition_reassignments = _awaited(reassignments.list_partition_reassignments)
    describe_metadata_quorum = _awaited(quorum.describe_metadata_quorum)
    add_raft_voter = _awaited(quorum.add_raft_voter)
    remove_raft_voter = _awaited(quorum.remove_raft_voter)
    unregister_broker = _awaited(quorum.unregister_broker)
    describe_api_versions = _awaited(features.describe_api_versions)
    describe_features = _awaited(features.describe_features)
    update_features = _awaited(features.update_features)

    describe_share_groups = _awaited(share_groups.describe_share_groups)
    list_share_group_offsets = _awaited(share_groups.list_share_group_offsets)
    alter_share_group_offsets = _awaited(share_groups.alter_share_group_offsets)
    delete_share_group_offsets = _awaited(share_groups.delete_share_group_offsets)
    describe_streams_groups = _awaited(streams_groups.describe_streams_groups)

    async def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        await self._host.close(int(timeout * 1000))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
