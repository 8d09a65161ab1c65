"""What a start does before it lets time do its work."""

import pytest

from manager_kit import SimBroker
from odradek.log import names
from odradek.sim.crash import KEEP_ALL


@pytest.mark.contract("D25")
def test_schedules_begin_when_all_logs_are_loaded():
    """A checkpoint that was written while half of the logs are not known would say that they are gone."""
    broker = SimBroker(log_initial_task_delay_ms=0, replica_high_watermark_checkpoint_interval_ms=100)
    broker.start()
    for partition in range(4):
        broker.append(broker.create(partition=partition), "a")
    broker.sleep(1000)
    before = broker.disk.read(f"data/a/{names.REPLICATION_OFFSETS}")
    broker.crash(KEEP_ALL)
    broker.boot()
    broker.disk.slow("read", 700_000)
    loading = broker.spawn(broker.manager.start())
    broker.sleep(1000)
    assert not loading.is_done and len(broker.manager.current) < 4
    assert broker.disk.read(f"data/a/{names.REPLICATION_OFFSETS}") == before
    broker.world.run_until(lambda: loading.is_done)
    assert len(broker.manager.current) == 4
    assert broker.disk.read(f"data/a/{names.REPLICATION_OFFSETS}") == before
    broker.disk.heal()
    broker.append(broker.manager.get("topic", 0), "b")
    broker.sleep(5000)
    assert broker.disk.read(f"data/a/{names.REPLICATION_OFFSETS}") != before
