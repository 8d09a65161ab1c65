"""The executors of the message codec: `codec` runs a test on each of them, `codecs` hands over all there are.

With ODRADEK_PURE set, or where no compiler was there at install time, the compiled one is skipped and the reason shown.
An extension that is missing or stale although it was compiled is no reason: it fails.

In CI, a skip that `allowed_skips.txt` does not know fails the session (`skips.py`).
"""

import os

import pytest

import skips
from odradek import native
from odradek.protocol import codec as pure_codec

EXTENSION = "odradek.protocol._codec"


def pytest_configure(config):
    if skips.are_failures() and not hasattr(config, "workerinput"):  # the workers of xdist report to one process
        config.pluginmanager.register(skips.RefusedSkips())


def why_no_compiled_codec():
    if os.environ.get(native.PURE_VARIABLE, "") not in ("", "0"):
        return f"{native.PURE_VARIABLE} is set"
    try:
        native.load_compiled(EXTENSION)
    except ImportError as error:
        if "when odradek was installed" not in str(error):
            raise
        return str(error)
    return None


@pytest.fixture(scope="session")
def codecs():
    reason = why_no_compiled_codec()
    found = {"pure": pure_codec}
    if reason is None:
        found["compiled"] = native.load_compiled(EXTENSION)
    return found


@pytest.fixture(params=["pure", "compiled"])
def codec(request, codecs):
    if request.param not in codecs:
        pytest.skip(f"no compiled codec: {why_no_compiled_codec()}")
    return codecs[request.param]
