"""From a listener's configs to what its connections need: a TLS context, SASL mechanisms, rules for names."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.config.errors import ConfigError
from odradek.config.listeners import endpoints
from odradek.config.parsed import Config
from odradek.reactor.tls_settings import TlsSettings
from odradek.security.mechanism import Mechanism, SaslServer

if TYPE_CHECKING:
    from odradek.reactor.tls import TlsContext

MakeTlsContext = Callable[[TlsSettings], "TlsContext"]  # reactor/adapters/tls.py has the real one

TLS_PROTOCOLS = ("SSL", "SASL_SSL")
SASL_PROTOCOLS = ("SASL_PLAINTEXT", "SASL_SSL")
PEM = "PEM"
_OPENSSL = "openssl pkcs12 -in store.p12 -nodes -out store.pem"


def tls_settings(config: Config, listener: str) -> TlsSettings:
    """ConfigError for stores of Java's own formats: there is nothing in Python that reads them."""

    def own(name: str) -> str:
        value = config.listener(listener, name)
        return str(getattr(value, "value", value) or "")

    _check_type(own("ssl.keystore.type"), own("ssl.keystore.location"), "ssl.keystore.type")
    _check_type(own("ssl.truststore.type"), own("ssl.truststore.location"), "ssl.truststore.type")
    return TlsSettings(
        certificate_chain=own("ssl.keystore.certificate.chain"),
        key=own("ssl.keystore.key"),
        keystore_path=own("ssl.keystore.location"),
        key_password=own("ssl.key.password"),
        trusted_certificates=own("ssl.truststore.certificates"),
        truststore_path=own("ssl.truststore.location"),
        client_auth=_client_auth(config, listener, own("ssl.client.auth")),
        protocols=tuple(config.listener(listener, "ssl.enabled.protocols") or ()),
        cipher_suites=tuple(config.listener(listener, "ssl.cipher.suites") or ()),
    )


def _client_auth(config: Config, listener: str, value: str) -> str:
    """With SASL the certificate of a client is of no use: Kafka asks for one only if this listener says so itself."""
    is_own = f"listener.name.{listener.lower()}.ssl.client.auth" in config
    return value if is_own or _protocol(config, listener) != "SASL_SSL" else "none"


def _protocol(config: Config, listener: str) -> str | None:
    from odradek.config.listeners import protocol_map

    return protocol_map(config).get(listener.upper())


def _check_type(type_: str, location: str, name: str) -> None:
    if location and type_.upper() != PEM:
        hint = "keytool -importkeystore makes PKCS12 of JKS, then " if type_.upper() == "JKS" else ""
        raise ConfigError(f"only PEM is read; convert the store: {hint}{_OPENSSL}; and set {name}=PEM", name, type_)


def mechanisms(config: Config, listener: str) -> list[Mechanism]:
    """Those that `sasl.enabled.mechanisms` names. What we cannot serve yet is listed all the same, and refused."""
    names = tuple(config.listener(listener, "sasl.enabled.mechanisms") or ())
    if not names:
        raise ConfigError(f"a SASL listener needs a mechanism: set sasl.enabled.mechanisms for {listener}")
    return [_mechanism(config, listener, name.strip()) for name in names]


def unserved_mechanisms(config: Config) -> list[str]:
    """A warning for every mechanism that a listener offers and nobody can log in with."""
    return [
        f"the listener {endpoint.listener} offers SASL/{name.strip()}, which is not served yet: only PLAIN is"
        for endpoint in endpoints(config, "listeners")
        if endpoint.protocol in SASL_PROTOCOLS
        for name in config.listener(endpoint.listener, "sasl.enabled.mechanisms") or ()
        if name.strip() != "PLAIN"
    ]


def _mechanism(config: Config, listener: str, name: str) -> Mechanism:
    reauth_ms = int(config.listener(listener, "connections.max.reauth.ms", name) or 0)
    server = _plain(config, listener) if name == "PLAIN" else None
    return Mechanism(name, server, reauth_ms)


def _plain(config: Config, listener: str) -> Callable[[], SaslServer]:
    from odradek.security.jaas import parse
    from odradek.security.sasl_plain import PlainCredentials, PlainServer

    text = config.listener(listener, "sasl.jaas.config", "PLAIN")
    if text is None:
        name = f"listener.name.{listener.lower()}.plain.sasl.jaas.config"
        raise ConfigError(f"SASL/PLAIN on {listener} needs its users: set {name}")
    credentials = PlainCredentials.from_login_module(parse(str(getattr(text, "value", text))))
    return lambda: PlainServer(credentials)
