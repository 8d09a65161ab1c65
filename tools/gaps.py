"""docs/gaps.md: what is declared and what is served, API by API."""

from odradek.handlers import table
from odradek.protocol import apis, releases

HEAD = """\
# What is served, API by API

Made by `make pages` from the API table and from `handlers/table.py`; do not edit it.

Every message below can be encoded and decoded in all its versions. The columns 3.3 and 4.3 are the versions that a
broker of that release tells its clients (blank: not told). *served* says on which listeners we answer it: a broker's,
the controller's, or none yet; ApiVersions tells only of what is served. *answered* is for those that are refused
as by a Kafka that has them switched off, because what is behind them is not built.

| key | API | declared | 3.3 | 4.3 | served |
|---:|---|---|---|---|---|
"""

PARTLY = """
Served in part:

- Delegation tokens (38-41) are not built: refused with DELEGATION_TOKEN_AUTH_DISABLED, as by a broker without a
  secret key for them; a config that sets the key does not start.
- ACLs (29-31), client quotas (48, 49) and SCRAM credentials (50, 51) are stored and told, and not enforced: the server
  log says so when one is set. Without `authorizer.class.name` ACLs get SECURITY_DISABLED, as from Kafka.
- Telemetry (71, 72) with an empty subscription; told only where somebody receives it.
- The quorum's own APIs (52-54, 59, 80-82) as a quorum of one voter answers them.
"""


DELEGATION_TOKENS = range(38, 42)


def render() -> str:
    rows = [_row(api) for api in apis.ALL]
    served = sum(_served(api.key) != "no" and api.key not in DELEGATION_TOKENS for api in apis.ALL)
    return HEAD + "\n".join(rows) + "\n" + PARTLY + f"\n{served} of {len(rows)} APIs are served.\n"


def _row(api: apis.Api) -> str:
    declared = f"{api.versions[0]}-{api.versions[-1]}"
    told = [_told(release, api.key) for release in (releases.RELEASE_3_3, releases.RELEASE_4_3)]
    served = f"answered ({_served(api.key)})" if api.key in DELEGATION_TOKENS else _served(api.key)
    return f"| {api.key} | {api.message} | {declared} | {told[0]} | {told[1]} | {served} |"


def _served(key: int) -> str:
    kinds = [kind.lower() for kind in (releases.BROKER, releases.CONTROLLER) if key in table.keys(kind)]
    return ", ".join(kinds) or "no"


def _told(release: releases.Release, key: int) -> str:
    versions = release.api_versions(releases.BROKER).get(key)
    return "" if versions is None else f"{versions[0]}-{versions[1]}"
