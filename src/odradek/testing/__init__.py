"""A real broker for a test or a notebook, ready when the call returns.

    with Broker() as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)

The names are imported when they are first used: the broker's own process comes through here as well, and needs none.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.testing.broker import Broker
    from odradek.testing.broker_error import BrokerError
    from odradek.testing.faults import Fault, Faults

__all__ = ["Broker", "BrokerError", "Fault", "Faults"]

_MODULES = {"Broker": "broker", "BrokerError": "broker_error", "Fault": "faults", "Faults": "faults"}


def __dir__() -> list[str]:
    """What completion and help show: the names that are there when they are asked for, too."""
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # to a type checker a name that is not above is a mistake

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
