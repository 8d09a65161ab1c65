"""Which part of a broker hears of which configs when they change while it runs."""

from odradek.broker.dynamic_config import DynamicBrokerConfig, any_of, concerns_network, starting_with
from odradek.broker.lifecycle import BrokerLifecycle
from odradek.coordinator.group.coordinator import GroupCoordinator
from odradek.log.manager.manager import LogManager
from odradek.network.socket_server import SocketServer
from odradek.reactor.ports import Executor
from odradek.replica.manager import ReplicaManager

LOG_PREFIXES = (
    "log.",
    "compression.",
    "message.",
    "cordoned.",
    "num.recovery.",
    "producer.id.",
    "min.insync.",
    "unclean.",
)
_concerns_logs = starting_with(*LOG_PREFIXES)
_concerns_replicas = starting_with(*LOG_PREFIXES, "transaction.partition.")
_concerns_groups = starting_with("group.consumer.", "group.share.", "group.streams.")


def tell_of_changes(
    configs: DynamicBrokerConfig,
    *,
    executor: Executor,
    logs: LogManager,
    lifecycle: BrokerLifecycle,
    socket_server: SocketServer,
    replicas: ReplicaManager,
    groups: GroupCoordinator,
) -> None:
    configs.listen(any_of("num.io.threads"), lambda layers: executor.resize(layers.config["num.io.threads"]))
    configs.listen(_concerns_logs, logs.update_broker_defaults)
    configs.listen(any_of("cordoned.log.dirs"), lambda layers: lifecycle.communicate_now())
    configs.listen(concerns_network, lambda layers: socket_server.update_config(layers.config))
    configs.listen(_concerns_replicas, replicas.update_config)
    configs.listen(_concerns_groups, lambda layers: groups.update_config(layers.config))
