"""`outside` is the world behind the ports: once the real one, once the simulated one. A test with it runs on both."""

import pytest

from channel_kit import RealOutside, SimOutside


@pytest.fixture(params=["real", "sim"])
def outside(request):
    made = RealOutside() if request.param == "real" else SimOutside()
    yield made
    made.close()


@pytest.fixture
def sim():
    made = SimOutside()
    yield made
    made.close()
