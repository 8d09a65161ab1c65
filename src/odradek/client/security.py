"""How a client protects its connections and says who it is, from its configs."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from odradek.channel.client_connection import PLAINTEXT, ChannelSecurity
from odradek.channel.sasl_client import PlainSaslClient, SaslClient
from odradek.config.errors import ConfigError
from odradek.config.jaas import parse
from odradek.config.parsed import Config
from odradek.reactor.tls_settings import TlsSettings

if TYPE_CHECKING:
    from odradek.reactor.tls import TlsContext  # which loads OpenSSL

_STORES = (("ssl.keystore.type", "ssl.keystore.location"), ("ssl.truststore.type", "ssl.truststore.location"))


def channel_security(config: Config) -> ChannelSecurity:
    """May read files. ConfigError for what is not built and for what cannot be used."""
    protocol = str(config["security.protocol"]).upper()
    if protocol == "PLAINTEXT":
        return PLAINTEXT
    tls = _tls_context(config) if protocol.endswith("SSL") else None
    return ChannelSecurity(tls, _sasl(config) if protocol.startswith("SASL_") else None)


def _tls_context(config: Config) -> "TlsContext":
    from odradek.reactor.adapters.tls import TlsSettingsError, tls_context

    try:
        return tls_context(_tls_settings(config))
    except TlsSettingsError as error:
        raise ConfigError(str(error)) from None


def _tls_settings(config: Config) -> TlsSettings:
    def text(name: str) -> str:
        value = config[name]
        return str(getattr(value, "value", value) or "")

    for kind, location in _STORES:
        if config[location] and str(config[kind]).upper() != "PEM":
            raise ConfigError(f"only PEM is read: convert the store, and set {kind}=PEM", kind, config[kind])
    return TlsSettings(
        is_server=False,
        certificate_chain=text("ssl.keystore.certificate.chain"),
        key=text("ssl.keystore.key"),
        keystore_path=text("ssl.keystore.location"),
        key_password=text("ssl.key.password"),
        trusted_certificates=text("ssl.truststore.certificates"),
        truststore_path=text("ssl.truststore.location"),
        protocols=tuple(config["ssl.enabled.protocols"] or ()),
        cipher_suites=tuple(config["ssl.cipher.suites"] or ()),
        checks_host_name=bool(config["ssl.endpoint.identification.algorithm"]),
    )


def _sasl(config: Config) -> Callable[[], SaslClient]:
    mechanism = config["sasl.mechanism"]
    if mechanism != "PLAIN":
        raise ConfigError("PLAIN is the mechanism that is built", "sasl.mechanism", mechanism)
    given = config["sasl.jaas.config"]
    if given is None:
        raise ConfigError("SASL/PLAIN needs a name and a password: set sasl.jaas.config")
    options = parse(str(getattr(given, "value", given))).options
    if "username" not in options or "password" not in options:
        raise ConfigError("sasl.jaas.config needs the options username and password")
    return partial(PlainSaslClient, options["username"], options["password"])
