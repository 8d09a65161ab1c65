"""docs/gaps.md: what is declared and what is served, API by API."""

from pathlib import Path

from odradek.protocol import apis, releases

HANDLERS = Path(__file__).resolve().parent.parent / "src" / "odradek" / "handlers"

HEAD = """\
# What is not served yet

Made by `make pages` from the API table and the files in `handlers/`; do not edit it.

Every message below can be encoded and decoded in all its versions. An API is *served* when `handlers/` has a file for
it. The columns 3.3 and 4.3 are the versions that a broker of that release tells its clients (blank: not told).

| key | API | declared | 3.3 | 4.3 | served |
|---:|---|---|---|---|---|
"""


def render() -> str:
    rows = [_row(api) for api in apis.ALL]
    served = sum(row.endswith("| yes |") for row in rows)
    return HEAD + "\n".join(rows) + f"\n\n{served} of {len(rows)} APIs are served.\n"


def _row(api: apis.Api) -> str:
    declared = f"{api.versions[0]}-{api.versions[-1]}"
    told = [_told(release, api.key) for release in (releases.RELEASE_3_3, releases.RELEASE_4_3)]
    served = "yes" if any(HANDLERS.glob(f"k{api.key:02d}_*.py")) else "no"
    return f"| {api.key} | {api.message} | {declared} | {told[0]} | {told[1]} | {served} |"


def _told(release: releases.Release, key: int) -> str:
    versions = release.api_versions(releases.BROKER).get(key)
    return "" if versions is None else f"{versions[0]}-{versions[1]}"
