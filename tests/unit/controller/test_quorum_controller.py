"""The driver: taking over, losing the lead, the gate before every answer."""

import pytest

from controllers import Harness, state_of
from odradek.controller.core import ControllerCore
from odradek.metadata.replay_error import ReplayError
from odradek.protocol import releases
from odradek.protocol.errors import NotController
from odradek.protocol.messages.k70_controller_registration import ControllerRegistrationRequest
from odradek.protocol.messages.metadata_cluster import (
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)
from odradek.protocol.messages.metadata_topics import TopicRecord
from odradek.raft.listener import SnapshotReader
from odradek.replicated.decision import answer


def test_an_empty_log_gets_the_bootstrap_records_in_one_transaction() -> None:
    harness = Harness()
    harness.done(harness.controller.until_active())
    kinds = [type(record) for record in harness.quorum.messages()]
    assert kinds == [BeginTransactionRecord, FeatureLevelRecord, EndTransactionRecord]
    assert harness.core.features.metadata_version == 30


def test_a_log_that_is_not_empty_gets_none() -> None:
    harness = Harness()
    harness.brokers(1)
    harness.done(harness.controller.until_active())
    end = harness.quorum.log_end_offset
    harness.controller.stop()
    harness.controller = harness.make_controller()
    harness.controller.start()
    harness.quorum.elect()
    harness.done(harness.controller.until_active())
    assert harness.quorum.log_end_offset == end + 1, "the record of the new epoch alone"
    assert list(harness.core.cluster.brokers) == [1]


def test_a_transaction_that_was_cut_is_aborted() -> None:
    harness = Harness()
    harness.brokers(1)
    harness.run(lambda core: _records(BeginTransactionRecord(name="x"), TopicRecord(name="half", topic_id=b"h" * 16)))
    assert harness.core.in_transaction
    harness.controller.stop()
    harness.controller = harness.make_controller()
    harness.controller.start()
    harness.quorum.elect()
    harness.done(harness.controller.until_active())
    assert not harness.core.in_transaction
    assert harness.core.topics.by_name == {}
    assert harness.create("whole").error_code == 0


def _records(*messages):
    from odradek.replicated.decision import Decision

    return Decision([(message, 0) for message in messages], None)


def test_nothing_is_answered_before_it_is_committed() -> None:
    harness = Harness()
    harness.brokers(1)
    harness.quorum.is_committing = False
    created = harness.controller.run(lambda core: core.create_topics(harness.request_to_create("t")))
    read = harness.controller.run(lambda core: answer(list(core.topics.by_name)))
    harness.node.attend()
    harness.world.run_for(1_000)
    assert not created.is_done
    assert not read.is_done, "it has seen a topic that may yet be lost"
    harness.quorum.commit()
    harness.node.attend()
    assert (harness.done(created).topics[0].error_code, harness.done(read)) == (0, ["t"])


def test_lost_leadership_refuses_who_waits_and_forgets_what_was_not_committed() -> None:
    harness = Harness()
    harness.brokers(1)
    harness.create("kept")
    committed = state_of(harness.core)
    harness.quorum.is_committing = False
    waiting = harness.controller.run(lambda core: core.create_topics(harness.request_to_create("lost")))
    assert "lost" in harness.core.topics.by_name
    harness.quorum.lose_leadership()
    with pytest.raises(NotController, match="node 2"):
        harness.done(waiting)
    assert state_of(harness.core) == committed
    with pytest.raises(NotController):
        harness.create("refused")
    harness.quorum.is_committing = True
    harness.quorum.elect()
    assert harness.create("lost").error_code == 0
    assert set(harness.core.topics.by_name) == {"kept", "lost"}
    assert harness.faults == []


def test_what_another_leader_kept_is_there_after_the_reload() -> None:
    harness = Harness()
    harness.brokers(1)
    harness.quorum.is_committing = False
    harness.controller.run(lambda core: core.create_topics(harness.request_to_create("first")))
    middle = harness.quorum.log_end_offset
    harness.controller.run(lambda core: core.create_topics(harness.request_to_create("second")))
    harness.quorum.lose_leadership(keep=middle)
    assert list(harness.core.topics.by_name) == ["first"]


def test_a_new_leader_gives_every_broker_a_fresh_session() -> None:
    harness = Harness()
    harness.brokers(1, 2)
    harness.world.run_for(8_000)
    harness.quorum.lose_leadership()
    harness.world.run_for(60_000)
    harness.quorum.elect()
    harness.node.attend()
    harness.world.run_for(5_000)
    assert not harness.core.cluster.brokers[1].fenced
    harness.world.run_for(10_000)
    assert harness.core.cluster.brokers[1].fenced


def test_a_follower_starts_from_a_snapshot() -> None:
    harness = Harness()
    harness.brokers(1)
    harness.create("t", partitions=3)
    records = [record for record in harness.quorum.messages() if not isinstance(record, _TRANSACTION)]
    wanted = state_of(harness.core)
    follower = harness.make_controller()
    follower.runtime.attach()
    follower.handle_load_snapshot(SnapshotReader(harness.quorum.log_end_offset, 1, [records[:2], records[2:]]))
    assert state_of(follower.core) == wanted
    assert follower.runtime.replayed_offset == harness.quorum.log_end_offset - 1


_TRANSACTION = (BeginTransactionRecord, EndTransactionRecord)


def test_a_core_that_cannot_replay_is_told_of() -> None:
    harness = Harness()
    with pytest.raises(ReplayError, match="a topic named 't' already"):
        harness.run(lambda core: _records(*[TopicRecord(name="t", topic_id=b"a" * 16)] * 2))
    assert len(harness.faults) == 1
    with pytest.raises(NotController):
        harness.create("t2")


def test_controllers_register() -> None:
    harness = Harness()
    request = ControllerRegistrationRequest(controller_id=1, incarnation_id=b"i" * 16)
    assert harness.run(lambda core: core.register_controller(request)).error_code == 0
    assert harness.core.cluster.controllers[1].incarnation_id == b"i" * 16


def test_replaying_the_log_makes_the_same_state() -> None:
    harness = Harness()
    harness.brokers(1, 2, 3)
    for number in range(5):
        harness.create(f"t.{number}", partitions=4, replicas=2, retention_ms="7")
    harness.pass_ms(12_000, alive=[1, 3])
    again = ControllerCore(
        node_id=1,
        cluster_id=harness.core.cluster_id,
        release=releases.RELEASE_4_3,
        static_configs=harness.static,
        stream=harness.node.ports.rng.stream("other"),
        session_timeout_ms=9000,
    )
    for offset, record in enumerate(harness.quorum.messages()):
        again.replay(record, offset)
    assert state_of(again) == state_of(harness.core)
    again.validate()
