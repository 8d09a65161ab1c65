"""`outside` is the world behind the ports: once the real one, once the simulated one. Every test here runs on both."""

import pytest

from outsides import RealOutside, SimOutside


@pytest.fixture(params=["real", "sim"])
def outside(request, tmp_path):
    made = RealOutside(tmp_path) if request.param == "real" else SimOutside()
    yield made
    made.close()


@pytest.fixture
def ports(outside):
    return outside.ports
