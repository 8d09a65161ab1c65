"""From a listener's configs to what its connections need: a TLS context, SASL mechanisms, rules for names."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from odradek.config.errors import ConfigError
from odradek.config.listeners import Endpoint, protocol_map
from odradek.config.parsed import Config
from odradek.reactor.tls_settings import TlsSettings
from odradek.security.mechanism import Mechanism, SaslServer
from odradek.security.protections import (
    MECHANISM,
    SASL_PROTOCOLS,
    TLS_PROTOCOLS,
    check_stores,
    client_auth,
    mechanism_names,
    plain_credentials,
)

if TYPE_CHECKING:
    from odradek.reactor.tls import TlsContext

MakeTlsContext = Callable[[TlsSettings], "TlsContext"]  # reactor/adapters/tls.py has the real one

__all__ = ["SASL_PROTOCOLS", "TLS_PROTOCOLS", "MakeTlsContext", "mechanisms", "tls_settings"]


def tls_settings(config: Config, listener: str) -> TlsSettings:
    """The TLS settings of a listener. Raises ConfigError for stores in Java's own formats: Python reads none."""

    def own(name: str) -> str:
        value = config.listener(listener, name)
        return str(getattr(value, "value", value) or "")

    check_stores(config, listener)
    return TlsSettings(
        certificate_chain=own("ssl.keystore.certificate.chain"),
        key=own("ssl.keystore.key"),
        keystore_path=own("ssl.keystore.location"),
        key_password=own("ssl.key.password"),
        trusted_certificates=own("ssl.truststore.certificates"),
        truststore_path=own("ssl.truststore.location"),
        client_auth=client_auth(config, _endpoint(config, listener)),
        protocols=tuple(config.listener(listener, "ssl.enabled.protocols") or ()),
        cipher_suites=tuple(config.listener(listener, "ssl.cipher.suites") or ()),
    )


def _endpoint(config: Config, listener: str) -> Endpoint:
    return Endpoint(listener, protocol_map(config).get(listener.upper(), ""), "", 0)


def mechanisms(config: Config, listener: str) -> list[Mechanism]:
    """The mechanisms that `sasl.enabled.mechanisms` names. Those that are not built are offered, too, and refused."""
    names = mechanism_names(config, listener)
    if not names:
        raise ConfigError(f"a SASL listener needs a mechanism: set sasl.enabled.mechanisms for {listener}")
    return [_mechanism(config, listener, name) for name in names]


def _mechanism(config: Config, listener: str, name: str) -> Mechanism:
    reauth_ms = int(config.listener(listener, "connections.max.reauth.ms", name) or 0)
    server = _plain(config, listener) if name == MECHANISM else None
    return Mechanism(name, server, reauth_ms)


def _plain(config: Config, listener: str) -> Callable[[], SaslServer]:
    from odradek.security.sasl_plain import PlainServer

    credentials = plain_credentials(config, listener)
    if credentials is None:
        name = f"listener.name.{listener.lower()}.plain.sasl.jaas.config"
        raise ConfigError(f"SASL/PLAIN on {listener} needs its users: set {name}")
    return partial(PlainServer, credentials)
