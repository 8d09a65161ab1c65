"""Which token a client logs in with by SASL/OAUTHBEARER, from its configs.

sasl_oauth_token_provider=f           what f() returns, at each login; an object with token() (and extensions()) too
sasl.oauthbearer.token.endpoint.url   file:... a file with a token; http... a server that gives one for the client's id
                                      and secret, from sasl.oauthbearer.client.credentials.* or sasl.jaas.config
sasl.jaas.config with unsecuredLogin  a token that nobody has signed, made here: for tests alone
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping

from odradek.channel.oauth_client import BearerToken, Tokens
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.protocol.errors import SaslAuthenticationFailed
from odradek.reactor.adapters import token_sources

_UNSECURED = "unsecuredLogin"
_CLAIMS = {"StringClaim_": str, "NumberClaim_": float, "ListClaim_": list}
_EXTENSION = f"{_UNSECURED}Extension_"
_LIFETIME_S = 3600
_TIMEOUT_MS = 10_000


def tokens(config: Config, options: Mapping[str, str], provider: object) -> Tokens:
    """`options` are those of sasl.jaas.config; `provider` is what the program handed in, if anything."""
    if provider is not None:
        return _provided(provider)
    extensions = {name.removeprefix("extension_"): text for name, text in options.items() if name[:10] == "extension_"}
    url = config["sasl.oauthbearer.token.endpoint.url"]
    if url:
        return Tokens(_from_url(str(url), config, options), token_sources.wall_ms, extensions)
    if any(name.startswith(_UNSECURED) for name in options):
        return _unsecured(options)
    raise ConfigError(
        "SASL/OAUTHBEARER needs a token: give sasl_oauth_token_provider, sasl.oauthbearer.token.endpoint.url, or the "
        "unsecuredLogin options of sasl.jaas.config"
    )


def _provided(provider: object) -> Tokens:
    ask = getattr(provider, "token", provider)
    if not callable(ask):
        raise ConfigError("sasl_oauth_token_provider must be a function without arguments, or have token()")

    def fetch() -> BearerToken:
        text = ask()
        if not isinstance(text, str):
            raise TypeError(f"sasl_oauth_token_provider gave an object of class {type(text).__qualname__}, not text")
        return BearerToken(text)

    return Tokens(fetch, token_sources.wall_ms, getattr(provider, "extensions", {}))


def _from_url(url: str, config: Config, options: Mapping[str, str]) -> Callable[[], BearerToken]:
    if url.startswith("file:"):
        path = url.removeprefix("file:").removeprefix("//")
        return lambda: _lasting(_refusing(lambda: token_sources.token_of_file(path)))
    if not url.startswith(("http://", "https://")):
        raise ConfigError("it must begin with http, https or file", "sasl.oauthbearer.token.endpoint.url", url)
    endpoint = _endpoint(url, config, options)
    return lambda: _lasting(_refusing(lambda: token_sources.token_of_endpoint(endpoint)))


def _endpoint(url: str, config: Config, options: Mapping[str, str]) -> token_sources.Endpoint:
    secret = config["sasl.oauthbearer.client.credentials.client.secret"]
    client_id = config["sasl.oauthbearer.client.credentials.client.id"] or options.get("clientId")
    client_secret = options.get("clientSecret") if secret is None else secret.value
    if not client_id or not client_secret:
        raise ConfigError(
            "sasl.oauthbearer.token.endpoint.url needs sasl.oauthbearer.client.credentials.client.id and .secret, or "
            "the options clientId and clientSecret of sasl.jaas.config"
        )
    return token_sources.Endpoint(
        url=url,
        client_id=str(client_id),
        client_secret=client_secret,
        scope=str(config["sasl.oauthbearer.scope"] or options.get("scope") or ""),
        escapes_credentials=bool(config["sasl.oauthbearer.header.urlencode"]),
        timeout_s=(config["sasl.login.read.timeout.ms"] or _TIMEOUT_MS) / 1000,
    )


def _refusing(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except token_sources.TokenRefused as error:
        raise SaslAuthenticationFailed(f"No token to log in with: {error}.") from None


def _lasting(text: str) -> BearerToken:
    """With the times that are in it, if it is a JWT."""
    claims = _claims(text)
    end_s, begin_s = claims.get("exp"), claims.get("iat")
    if not isinstance(end_s, (int, float)):
        return BearerToken(text)
    begin_ms = int(begin_s * 1000) if isinstance(begin_s, (int, float)) else token_sources.wall_ms()
    return BearerToken(text, begin_ms, int(end_s * 1000))


def _claims(text: str) -> dict[str, object]:
    parts = text.split(".")
    if len(parts) != 3:
        return {}
    try:
        found = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _unsecured(options: Mapping[str, str]) -> Tokens:
    extensions = {name.removeprefix(_EXTENSION): text for name, text in options.items() if name.startswith(_EXTENSION)}
    lifetime_s = int(_number("LifeTimeSeconds", options.get(f"{_UNSECURED}LifeTimeSeconds", str(_LIFETIME_S))))
    claims = _unsecured_claims(options)
    principal = options.get(f"{_UNSECURED}PrincipalClaimName", "sub")
    if principal not in claims:
        raise ConfigError(f"sasl.jaas.config needs the option {_UNSECURED}StringClaim_{principal}")

    def fetch() -> BearerToken:
        now_ms = token_sources.wall_ms()
        times = {"iat": now_ms / 1000, "exp": now_ms / 1000 + lifetime_s}
        text = f"{_part({'alg': 'none'})}.{_part({**claims, **times})}."
        return BearerToken(text, now_ms, now_ms + lifetime_s * 1000)

    return Tokens(fetch, token_sources.wall_ms, extensions)


def _unsecured_claims(options: Mapping[str, str]) -> dict[str, object]:
    claims: dict[str, object] = {}
    for option, text in options.items():
        for kind, form in _CLAIMS.items():
            if option.startswith(f"{_UNSECURED}{kind}"):
                name = option.removeprefix(f"{_UNSECURED}{kind}")
                claims[name] = _claim(name, text, form)
    return claims


def _claim(name: str, text: str, form: type) -> object:
    if form is float:
        return _number(name, text)
    # Java's form of a list: its first character separates the values
    return text[1:].split(text[0]) if form is list and text else text


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"the option {_UNSECURED}...{name} of sasl.jaas.config must be a number") from None


def _part(claims: Mapping[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(claims, separators=(",", ":")).encode()).decode().rstrip("=")
