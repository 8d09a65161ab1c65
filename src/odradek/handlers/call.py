"""One request on its way: who sent it, from where, in which version, and what it may do."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from odradek.security.acl import OPERATIONS_OF, REFUSALS

if TYPE_CHECKING:
    from odradek.handlers.services import BrokerServices, ControllerServices, Services
    from odradek.network.server_connection import ServerConnection
    from odradek.reactor.ports import Clock
    from odradek.security.principal import Principal

S = TypeVar("S", bound="Services", covariant=True)


class LocalConnection:
    """Stands for the connection of a request that never was on a wire: a forwarded one, or one to ourselves."""

    __slots__ = (
        "address",
        "authenticator",
        "client_software_name",
        "client_software_version",
        "id",
        "is_closed",
        "is_privileged",
        "listener",
        "principal",
        "variation",
    )

    def __init__(
        self, principal: "Principal", listener: str, address: tuple[str, int], *, is_privileged: bool = True
    ) -> None:
        self.principal = principal
        self.listener = listener
        self.address = address
        self.is_privileged = is_privileged
        self.id = "local"
        self.authenticator = None
        self.is_closed = False
        self.client_software_name = ""
        self.client_software_version = ""
        self.variation = 0

    def when_closed(self, callback: Callable[[], None]) -> None:
        """Never calls back: whoever sent the request lives as long as this process."""

    def forget_when_closed(self, callback: Callable[[], None]) -> None:
        """Does nothing: `when_closed` has kept nothing."""


class Call(Generic[S]):
    """A `BrokerCall` or a `ControllerCall`: which services it has depends on the listener that it came in on."""

    __slots__ = ("client_id", "connection", "correlation_id", "key", "services", "version")

    def __init__(
        self,
        services: S,
        connection: "ServerConnection | LocalConnection",
        key: int,
        version: int,
        correlation_id: int,
        client_id: str | None,
    ) -> None:
        self.services = services
        self.connection = connection
        self.key = key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id

    @property
    def principal(self) -> "Principal":
        return self.connection.principal

    @property
    def listener(self) -> str:
        return self.connection.listener

    @property
    def address(self) -> tuple[str, int]:
        return self.connection.address

    @property
    def clock(self) -> "Clock":
        return self.services.clock

    @property
    def throttle_ms(self) -> int:
        """How long the client shall wait before it goes on."""
        quotas = self.services.quotas
        return 0 if quotas is None else quotas.throttle_ms(self)

    def now_ms(self) -> int:
        """The time of day, for what is written or compared with a record's timestamp."""
        return self.services.clock.wall_ms()

    def mono_ms(self) -> int:
        """The time for every wait and timeout."""
        return self.services.clock.mono_ms()

    def authorize(self, operation: int, resource_type: int, name: str) -> bool:
        authorizer = self.services.authorizer
        return authorizer is None or authorizer.authorize(self, operation, resource_type, name)

    def authorize_all(self, operation: int, resource_type: int, names: "list[str]") -> set[str]:
        """The names of those resources on which the caller may do the operation."""
        authorizer = self.services.authorizer
        if authorizer is None:
            return set(names)
        return {name for name in names if authorizer.authorize(self, operation, resource_type, name)}

    def demand(self, operation: int, resource_type: int, name: str) -> None:
        """Raises the authorization error of the resource type if the caller may not do the operation."""
        if not self.authorize(operation, resource_type, name):
            raise REFUSALS[resource_type]()

    def authorized_operations(self, resource_type: int, name: str) -> int:
        """The operations that the caller may do on the resource, as a response tells them: bit n for operation n."""
        bits = 0
        for operation in OPERATIONS_OF[resource_type]:
            if self.authorize(operation, resource_type, name):
                bits |= 1 << operation
        return bits

    def __repr__(self) -> str:
        return f"<Call key={self.key} version={self.version} from {self.connection.id} as {self.principal}>"


BrokerCall: TypeAlias = "Call[BrokerServices]"
ControllerCall: TypeAlias = "Call[ControllerServices]"
AnyCall: TypeAlias = "Call[Services]"  # for what is served on both kinds of listeners
