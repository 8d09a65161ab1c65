"""Whether a node protects what its configs ask it to protect.

A config that asks for protection that is not there must not be taken for granted: whoever wrote it believes that
strangers are kept out. So the node does not start, and a running one does not take the change. `missing` is the first
reason against a config, in one line that says what is missing and what to do; `warnings` is what may be used all the
same, but not as somebody might believe.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from odradek.config import ignored
from odradek.config.broker import LISTENER_PREFIX
from odradek.config.errors import ConfigError
from odradek.config.listeners import Endpoint, endpoints, inter_broker_listener
from odradek.config.parsed import Config
from odradek.config.reasons import ANYWHERE, ON_TLS, REFUSED

if TYPE_CHECKING:
    from odradek.security.sasl_plain import PlainCredentials

TLS_PROTOCOLS = ("SSL", "SASL_SSL")
SASL_PROTOCOLS = ("SASL_PLAINTEXT", "SASL_SSL")
MECHANISM = "PLAIN"  # the one that is built
TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
PEM = "PEM"
NOBODY_PROVEN = "User:ANONYMOUS"

_OPENSSL = "openssl pkcs12 -in store.p12 -nodes -out store.pem"
# Those that OpenSSL offers in TLS 1.3. Python gives no way to leave one of them out.
_SUITES_OF_TLS_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
_AUTHORIZERS = (
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "kafka.security.authorizer.AclAuthorizer",
)


class MissingProtectionError(ConfigError):
    """A config that would not keep out whom it is to keep out."""


def check(config: Config) -> None:
    """Raises MissingProtectionError if the config asks for protection that is not there."""
    reason = missing(config)
    if reason is not None:
        raise MissingProtectionError(reason)


def check_login(config: Config) -> None:
    """Raises MissingProtectionError if nobody could log in on a listener, whatever else is right or wrong."""
    for endpoint in endpoints(config, "listeners"):
        if endpoint.protocol in SASL_PROTOCOLS:
            for reason in _missing_of_sasl(config, endpoint.listener):
                raise MissingProtectionError(reason)


def missing(config: Config) -> str | None:
    """Why this config must not be run: it asks for protection that is not there."""
    return next(_all_missing(config), None)


def _all_missing(config: Config) -> Iterator[str]:
    for name, told, reason in ignored.unserved(config, config.given):
        if reason.kind == REFUSED and _is_at_work(config, name, reason.where) and not _is_excused(config, name):
            remedy = _REMEDIES.get(name, "take it out to start without")
            yield f"{told} asks for protection that is not there: {reason.text}; {remedy}"
    for endpoint in endpoints(config, "listeners"):
        if endpoint.protocol in SASL_PROTOCOLS:
            yield from _missing_of_sasl(config, endpoint.listener)
        if endpoint.protocol in TLS_PROTOCOLS:
            yield from _missing_of_tls(config, endpoint)


_REMEDIES = {
    "authorizer.class.name": "take it out, or, if that is what you want, name everybody who can log in "
    f"in super.users ({NOBODY_PROVEN} for listeners without a login)",
    "principal.builder.class": "take it out, and rename principals with ssl.principal.mapping.rules",
}


def _is_at_work(config: Config, name: str, where: str) -> bool:
    """Whether a listener that the config is about would go without it."""
    if where == ANYWHERE:
        return True
    kinds = TLS_PROTOCOLS if where == ON_TLS else SASL_PROTOCOLS
    own = name.removeprefix(LISTENER_PREFIX).partition(".")[0].upper() if name.startswith(LISTENER_PREFIX) else None
    return any(
        endpoint.protocol in kinds and own in (None, endpoint.listener) for endpoint in endpoints(config, "listeners")
    )


# Access control: where everybody is a super user, it would forbid nothing.


def _is_excused(config: Config, name: str) -> bool:
    return name == "authorizer.class.name" and everybody_is_super_user(config)


def everybody_is_super_user(config: Config) -> bool:
    """Whether whoever gets in on any listener goes by a name that may do everything."""
    if config["authorizer.class.name"] not in _AUTHORIZERS:
        return False  # how another one reads super.users is its own business
    super_users = {name.strip() for name in config["super.users"].split(";")}
    return all(
        names is not None and names <= super_users
        for names in (_principals(config, endpoint) for endpoint in endpoints(config, "listeners"))
    )


def _principals(config: Config, endpoint: Endpoint) -> set[str] | None:
    """Everybody that a caller on this listener can turn out to be; None if that cannot be told."""
    if endpoint.protocol in SASL_PROTOCOLS:
        credentials = plain_credentials(config, endpoint.listener)
        return None if credentials is None else {f"User:{name}" for name in credentials.names}
    return {NOBODY_PROVEN} if client_auth(config, endpoint) == "none" else None


# SASL


def mechanism_names(config: Config, listener: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in config.listener(listener, "sasl.enabled.mechanisms") or ())


def plain_credentials(config: Config, listener: str) -> "PlainCredentials | None":
    """The users of SASL/PLAIN on this listener; ConfigError if they are written badly."""
    from odradek.config.jaas import parse  # only a node with a SASL listener pays for it
    from odradek.security.sasl_plain import PlainCredentials

    text = config.listener(listener, "sasl.jaas.config", MECHANISM)
    return None if text is None else PlainCredentials.from_login_module(parse(str(getattr(text, "value", text))))


def _missing_of_sasl(config: Config, listener: str) -> Iterator[str]:
    names = mechanism_names(config, listener)
    if names and MECHANISM not in names:
        yield (
            f"sasl.enabled.mechanisms={','.join(names)} on the listener {listener}: nobody could log in, for of SASL "
            f"only PLAIN is built; set listener.name.{listener.lower()}.sasl.enabled.mechanisms=PLAIN"
            f"{_between_brokers_too(config, listener)}"
        )


def _between_brokers_too(config: Config, listener: str) -> str:
    """What else has to be set on the listener between brokers: a broker has to accept the mechanism that it uses."""
    name = "sasl.mechanism.inter.broker.protocol"
    is_met = listener != inter_broker_listener(config) or config[name] == MECHANISM
    return "" if is_met else f" and {name}={MECHANISM}"


# TLS


def client_auth(config: Config, endpoint: Endpoint) -> str:
    """With SASL the certificate of a client is of no use: Kafka asks for one only if the listener says so itself."""
    if endpoint.protocol == "PLAINTEXT" or endpoint.protocol == "SASL_PLAINTEXT":
        return "none"
    is_own = f"{LISTENER_PREFIX}{endpoint.listener.lower()}.ssl.client.auth" in config
    is_asked = is_own or endpoint.protocol != "SASL_SSL"
    return str(config.listener(endpoint.listener, "ssl.client.auth")) if is_asked else "none"


def check_stores(config: Config, listener: str) -> None:
    """Raises ConfigError for stores in Java's own formats: there is nothing in Python that reads them."""
    for name, location in _STORES:
        _check_store(name, str(config.listener(listener, name)), config.listener(listener, location))


_STORES = (("ssl.keystore.type", "ssl.keystore.location"), ("ssl.truststore.type", "ssl.truststore.location"))


def _check_store(name: str, type_: str, location: str | None) -> None:
    if location and type_.upper() != PEM:
        hint = "keytool -importkeystore makes PKCS12 of JKS, then " if type_.upper() == "JKS" else ""
        raise ConfigError(f"only PEM is read; convert the store: {hint}{_OPENSSL}; and set {name}=PEM", name, type_)


def _missing_of_tls(config: Config, endpoint: Endpoint) -> Iterator[str]:
    listener = endpoint.listener
    try:
        check_stores(config, listener)
    except ConfigError as error:
        yield str(error)
    if client_auth(config, endpoint) != "none" and not _has_trust(config, listener):
        yield (
            f"ssl.client.auth={client_auth(config, endpoint)} on the listener {listener} has no certificates to trust, "
            "and there are no default ones: set ssl.truststore.type=PEM and ssl.truststore.location"
        )
    yield from _missing_suites(config, listener)


def _has_trust(config: Config, listener: str) -> bool:
    names = ("ssl.truststore.location", "ssl.truststore.certificates")
    return any(config.listener(listener, name) is not None for name in names)


def _missing_suites(config: Config, listener: str) -> Iterator[str]:
    """Reasons against a list of cipher suites: OpenSSL would use what it leaves out, or it has none of TLS 1.2."""
    suites = config.listener(listener, "ssl.cipher.suites") or ()
    versions = config.listener(listener, "ssl.enabled.protocols") or ()
    if not suites:
        return
    left_out = [suite for suite in _SUITES_OF_TLS_1_3 if suite not in suites]
    if "TLSv1.3" in versions and left_out:
        yield (
            f"ssl.cipher.suites on the listener {listener} leaves out {', '.join(left_out)}, which cannot be left out "
            "of TLS 1.3: name them too, or set ssl.enabled.protocols=TLSv1.2"
        )
    if "TLSv1.2" in versions and not any("_WITH_" in suite for suite in suites):
        yield (
            f"ssl.cipher.suites on the listener {listener} names no suite of TLS 1.2: name one, "
            "or set ssl.enabled.protocols=TLSv1.3"
        )


# What is not as it looks, and yet no reason not to start


def warnings(config: Config) -> list[str]:
    found = []
    if config["authorizer.class.name"] and everybody_is_super_user(config):
        found.append(
            f"{ignored.assigned(config, 'authorizer.class.name')} forbids nothing: access control is not built. It "
            "starts because everybody who can connect is in super.users; ACLs are stored and bind nobody"
        )
    found += unserved_mechanisms(config)
    for endpoint in endpoints(config, "listeners"):
        if endpoint.protocol in TLS_PROTOCOLS:
            found += _warnings_of_tls(config, endpoint)
    return found


def unserved_mechanisms(config: Config) -> list[str]:
    """A warning for every mechanism that a listener offers and nobody can log in with."""
    return [
        f"the listener {endpoint.listener} offers SASL/{name}, which is not served yet: only {MECHANISM} is"
        for endpoint in endpoints(config, "listeners")
        if endpoint.protocol in SASL_PROTOCOLS
        for name in mechanism_names(config, endpoint.listener)
        if name != MECHANISM
    ]


def _warnings_of_tls(config: Config, endpoint: Endpoint) -> Iterator[str]:
    listener, asked = endpoint.listener, config["ssl.client.auth"]
    if endpoint.protocol == "SASL_SSL" and asked != "none" and client_auth(config, endpoint) == "none":
        yield (
            f"ssl.client.auth={asked} is not for the listener {listener}, which is SASL_SSL: "
            f"set listener.name.{listener.lower()}.ssl.client.auth to ask for certificates there, as in Kafka"
        )
    older = [name for name in config.listener(listener, "ssl.enabled.protocols") or () if name not in TLS_VERSIONS]
    if older:
        yield f"the listener {listener} does not speak {', '.join(older)}: only {' and '.join(TLS_VERSIONS)}"
