import pytest

from network_kit import RealRig, SimRig


@pytest.fixture(params=["real", "sim"])
def rig(request):
    """Not started: the test says what is served, and with which configs."""
    made = RealRig() if request.param == "real" else SimRig()
    yield made
    made.close()


@pytest.fixture
def sim_rig():
    made = SimRig()
    yield made
    made.close()


@pytest.fixture
def real_rig():
    made = RealRig()
    yield made
    made.close()
