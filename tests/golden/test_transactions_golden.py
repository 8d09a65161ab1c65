"""A conversation about transactions that a real 3.3.2 and 4.3.0 have had: ours of the same release says the same."""

from pathlib import Path

import pytest

from started import broker
from transaction_conversation import play
from wire_replay import SocketTarget

DATA = Path(__file__).parent / "data"
CONFIGS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}


@pytest.mark.parametrize(("release", "kafka"), [("4.3", "4.3.0"), ("3.3", "3.3.2")])
def test_the_same_answers(release, kafka):
    recorded = (DATA / f"transactions-{kafka}.txt").read_text().splitlines()
    with broker(release, CONFIGS) as address:
        target = SocketTarget(*address)
        said = play(target.ask, release)
        target.close()
    assert said == recorded
