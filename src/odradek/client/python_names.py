"""Configs that Kafka does not have and programs of Python are used to, for every client:

    ssl_cafile, ssl_certfile, ssl_keyfile     files in PEM: whom to trust, the client's own certificate and its key
    ssl_password                              of that key
    ssl_check_hostname                        False: any name in the broker's certificate will do
    ssl_context                               an ssl.SSLContext that the program has made; the others are not looked at
    sasl_username, sasl_password              instead of sasl.jaas.config; so are sasl_plain_username and _password
    sasl_oauth_token_provider                 a function that returns a token

In a mapping they have dots, as Kafka's names do: ssl.cafile.
"""

from collections.abc import Mapping
from typing import Any

from odradek.config.errors import ConfigError
from odradek.config.parsed import Config

NAMES = (
    "sasl.oauth.token.provider",
    "sasl.password",
    "sasl.username",
    "ssl.cafile",
    "ssl.certfile",
    "ssl.check.hostname",
    "ssl.context",
    "ssl.keyfile",
    "ssl.password",
)
SAME = {"sasl.plain.username": "sasl.username", "sasl.plain.password": "sasl.password"}

# Which of Kafka's say the same in another way: both at once leave it open which is meant.
_OTHERWISE = {
    "ssl.cafile": ("ssl.truststore.location", "ssl.truststore.certificates"),
    "ssl.certfile": ("ssl.keystore.location", "ssl.keystore.certificate.chain"),
    "ssl.keyfile": ("ssl.keystore.location", "ssl.keystore.key"),
    "ssl.password": ("ssl.key.password",),
    "ssl.check.hostname": ("ssl.endpoint.identification.algorithm",),
}


def taken(values: dict[str, object]) -> dict[str, object]:
    """Takes these names out of what was given, each under its first name."""
    found: dict[str, object] = {}
    for name in [name for name in values if name in NAMES or name in SAME]:
        first = SAME.get(name, name)
        if first in found:
            raise ConfigError(f"{first} is given twice: as {name}, too")
        found[first] = values.pop(name)
    for name, others in _OTHERWISE.items():
        for other in others:
            if name in found and values.get(other) is not None:
                raise ConfigError(f"{name} and {other} are both given: give one of them")
    return found


def given(config: Config, name: str) -> Any:
    """What the program gave, or None. Any: the types are those that the names suggest: nobody has checked them."""
    names: Mapping[str, object] = getattr(config, "python_names", {})
    return names.get(name)


def check(config: Config, protocol: str) -> None:
    """A password or a certificate that would not be used: whoever gave it believes to be protected."""
    names: Mapping[str, object] = getattr(config, "python_names", {})
    for prefix, is_used, needed in (
        ("ssl.", protocol.endswith("SSL"), "SSL or SASL_SSL"),
        ("sasl.", protocol.startswith("SASL_"), "SASL_SSL or SASL_PLAINTEXT"),
    ):
        unused = [name for name in names if name.startswith(prefix)]
        if unused and not is_used:
            raise ConfigError(f"{unused[0]} needs security.protocol={needed}, and it is {protocol}")
