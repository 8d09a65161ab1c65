"""How a client protects its connections and says who it is, from its configs.

Beside Kafka's names there are those that programs of Python are used to: see `client/python_names.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from odradek.channel.client_connection import PLAINTEXT, ChannelSecurity
from odradek.channel.sasl_client import PlainSaslClient, SaslClient
from odradek.client import python_names
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.reactor.tls_settings import TlsSettings

if TYPE_CHECKING:
    from odradek.reactor.tls import TlsContext  # which loads OpenSSL

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

_STORES = (("ssl.keystore.type", "ssl.keystore.location"), ("ssl.truststore.type", "ssl.truststore.location"))
_NONCE_BYTES = 24


def channel_security(config: Config) -> ChannelSecurity:
    """May read files. ConfigError for what is not built and for what cannot be used."""
    protocol = str(config["security.protocol"]).upper()
    python_names.check(config, protocol)
    if protocol == "PLAINTEXT":
        return PLAINTEXT
    tls = _tls_context(config) if protocol.endswith("SSL") else None
    return ChannelSecurity(tls, _sasl(config) if protocol.startswith("SASL_") else None)


def _tls_context(config: Config) -> "TlsContext":
    from odradek.reactor.adapters.tls import TlsSettingsError, client_context, tls_context

    context = python_names.given(config, "ssl.context")
    if context is not None:
        return client_context(context)
    try:
        return tls_context(_tls_settings(config))
    except TlsSettingsError as error:
        raise ConfigError(str(error)) from None


def _tls_settings(config: Config) -> TlsSettings:
    def text(name: str) -> str:
        value = config[name]
        return str(getattr(value, "value", value) or "")

    def path(name: str) -> str:
        return str(python_names.given(config, name) or "")

    for kind, location in _STORES:
        if config[location] and str(config[kind]).upper() != "PEM":
            raise _not_pem(kind, str(config[kind]))
    checks_host_name = python_names.given(config, "ssl.check.hostname")
    return TlsSettings(
        is_server=False,
        certificate_chain=text("ssl.keystore.certificate.chain"),
        key=text("ssl.keystore.key"),
        keystore_path=text("ssl.keystore.location"),
        certificate_path=path("ssl.certfile"),
        key_path=path("ssl.keyfile"),
        key_password=path("ssl.password") or text("ssl.key.password"),
        trusted_certificates=text("ssl.truststore.certificates"),
        truststore_path=path("ssl.cafile") or text("ssl.truststore.location"),
        protocols=tuple(config["ssl.enabled.protocols"] or ()),
        cipher_suites=tuple(config["ssl.cipher.suites"] or ()),
        checks_host_name=bool(config["ssl.endpoint.identification.algorithm"])
        if checks_host_name is None
        else bool(checks_host_name),
    )


def _not_pem(name: str, kind: str) -> ConfigError:
    """How to convert a store of Java's."""
    steps = "openssl pkcs12 -in STORE.p12 -out STORE.pem -nodes"
    if kind.upper() == "JKS":
        steps = f"keytool -importkeystore -srckeystore STORE -destkeystore STORE.p12 -deststoretype PKCS12; {steps}"
    return ConfigError(f"only PEM is read. Convert the store ({steps}) and set {name}=PEM", name, kind)


def _sasl(config: Config) -> Callable[[], SaslClient]:
    from odradek.config.jaas import parse  # only who logs in pays for it

    mechanism = str(config["sasl.mechanism"])
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        if "sasl.mechanism" not in config.given:
            raise ConfigError(f"set sasl.mechanism: it may be {known}")
        raise ConfigError(f"the mechanisms that are built are {known}", "sasl.mechanism", mechanism)
    given = config["sasl.jaas.config"]
    options = {} if given is None else parse(str(getattr(given, "value", given))).options
    if mechanism == "OAUTHBEARER":
        return _oauth(config, options)
    username, password = _name_and_password(config, mechanism, options)
    if mechanism == "PLAIN":
        return partial(PlainSaslClient, username, password)
    return _scram(mechanism, username, password, is_token=options.get("tokenauth", "").lower() == "true")


def _name_and_password(config: Config, mechanism: str, options: dict[str, str]) -> tuple[str, str]:
    username = python_names.given(config, "sasl.username")
    password = python_names.given(config, "sasl.password")
    if username is not None or password is not None:
        if username is None or password is None:
            raise ConfigError("sasl_username and sasl_password belong together: give both")
        if options:
            raise ConfigError("sasl_username and sasl.jaas.config are both given: give one of them")
        return str(username), str(getattr(password, "value", password))
    if not options:
        raise ConfigError(
            f"SASL/{mechanism} needs a name and a password: set sasl.jaas.config, or sasl_username and sasl_password"
        )
    if "username" not in options or "password" not in options:
        raise ConfigError("sasl.jaas.config needs the options username and password")
    return options["username"], options["password"]


def _scram(mechanism: str, username: str, password: str, *, is_token: bool) -> Callable[[], SaslClient]:
    from odradek.channel.scram_client import ScramCredentials, ScramSaslClient
    from odradek.reactor.adapters.rng import SystemStream

    chance = SystemStream()

    def nonce() -> str:
        return chance.bytes(_NONCE_BYTES).hex()

    return partial(ScramSaslClient, ScramCredentials(mechanism, username, password, nonce, is_token=is_token))


def _oauth(config: Config, options: dict[str, str]) -> Callable[[], SaslClient]:
    from odradek.channel.oauth_client import OauthSaslClient
    from odradek.client.oauth_tokens import tokens

    return partial(OauthSaslClient, tokens(config, options, python_names.given(config, "sasl.oauth.token.provider")))
