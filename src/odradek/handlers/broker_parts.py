"""What handlers use of `broker/`, which lies above them and puts the node together, as protocols."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from odradek.config.sources import BrokerLayers
    from odradek.coordinator.group.share.service import ShareGroupService
    from odradek.coordinator.share.coordinator import ShareCoordinator
    from odradek.protocol.declare import Request
    from odradek.reactor.pending import Pending
    from odradek.replica.share.manager import SharePartitionManager
    from odradek.security.authorizer import AuthorizableRequest
    from odradek.security.principal import Principal

ACTIVE_CONTROLLER = -1  # the node id that stands for whoever is the active controller


class Configs(Protocol):
    """The configs of this node: `broker.dynamic_config.DynamicBrokerConfig`."""

    @property
    def current(self) -> "BrokerLayers":
        """What holds now; a change makes another object."""
        ...


class InterBroker(Protocol):
    """The way to the controller and to other brokers: `broker.inter_broker.InterBroker`."""

    def send(
        self,
        node_id: int,
        request: "Request",
        *,
        version: int | None = None,
        principal: "Principal | None" = None,
        client_id: str | None = None,
    ) -> "Pending[Any]":  # the response: its class follows from the request's API key, which mypy does not see
        """`version` is the newest that both sides know, `principal` this broker's own, unless given."""
        ...


class ProducerIds(Protocol):
    """Producer ids that nobody has had before: `broker.producer_ids.ProducerIds`."""

    def next(self) -> "Pending[int]": ...


class Quotas(Protocol):
    """How much a client may use, and how long it shall wait for having used more."""

    def throttle_ms(self, request: "AuthorizableRequest") -> int: ...


class Shares(Protocol):
    """What serves share groups: `broker.shares.Shares`."""

    @property
    def coordinator(self) -> "ShareCoordinator": ...

    @property
    def groups(self) -> "ShareGroupService": ...

    @property
    def partitions(self) -> "SharePartitionManager": ...
