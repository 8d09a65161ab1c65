"""Images under arbitrary records: deltas in any cut give one image, old images stay, a change costs what it changes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_kit import broker, change, config, image_of, level, partition, topic, topic_id
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.difference import difference
from odradek.metadata.image import EMPTY
from odradek.metadata.persistent_map import Map
from odradek.metadata.replay_error import ReplayError
from odradek.metadata.snapshot_file import CorruptSnapshot, read_snapshot, snapshot_bytes
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics

few = st.integers(0, 4)
ids = few.map(topic_id)
names = few.map(lambda number: f"name-{number}")

records = st.one_of(
    st.builds(lambda n, p: topic(n)[0] if p else topic(n, name=f"name-{p}")[0], few, few),
    st.builds(lambda n, i, e: partition(n, i, eligible_leader_replicas=e), few, few, st.none() | st.just([2])),
    st.builds(lambda n, i, leader: change(n, i, leader=leader, isr=[1]), few, few, st.integers(-2, 3)),
    st.builds(lambda topic_id: topics.RemoveTopicRecord(topic_id=topic_id), ids),
    st.builds(lambda name: topics.ClearElrRecord(topic_name=name), st.just("") | names),
    st.builds(config, st.sampled_from([2, 4]), names | st.just(""), names, st.none() | names),
    st.builds(broker, few, few),
    st.builds(lambda n, e, f: brokers.BrokerRegistrationChangeRecord(broker_id=n, broker_epoch=e, fenced=f), few, few,
              st.integers(-1, 1)),
    st.builds(lambda n: brokers.UnregisterBrokerRecord(broker_id=n, broker_epoch=0), few),
    st.builds(lambda n: brokers.RegisterControllerRecord(controller_id=n), few),
    st.builds(level, st.sampled_from(["metadata.version", "group.version"]), st.sampled_from([0, 7, 30])),
    st.builds(lambda n: cluster.AccessControlEntryRecord(id=n, resource_name="r"), ids),
    st.builds(lambda n: cluster.RemoveAccessControlEntryRecord(id=n), ids),
    st.builds(lambda u, m: cluster.UserScramCredentialRecord(name=u, mechanism=m, salt=b"x"), names, few),
    st.builds(lambda u, m: cluster.RemoveUserScramCredentialRecord(name=u, mechanism=m), names, few),
    st.builds(lambda t: cluster.DelegationTokenRecord(token_id=t, owner="o"), names),
    st.builds(lambda t: cluster.RemoveDelegationTokenRecord(token_id=t), names),
    st.builds(lambda n: cluster.ProducerIdsRecord(broker_id=-1, next_producer_id=n), few),
    st.builds(
        lambda name, key, remove: cluster.ClientQuotaRecord(
            entity=[cluster.EntityData(entity_type="user", entity_name=name)], key=key, value=1.0, remove=remove
        ),
        st.none() | names, names, st.booleans(),
    ),
)  # fmt: skip


def fitting(drawn):
    """Those of the drawn records that fit where they stand: the others are refused and have changed nothing."""
    kept = []
    for record in drawn:
        delta = MetadataDelta(image_of(kept))
        try:
            delta.replay(record)
        except ReplayError:
            continue
        kept.append(record)
    return kept


histories = st.lists(records, max_size=40).map(fitting)


@given(histories, st.lists(st.integers(0, 40), max_size=6))
def test_any_cut_into_deltas_gives_the_image_that_one_delta_gives(history, cuts):
    image = EMPTY
    edges = sorted({0, len(history), *(cut for cut in cuts if cut < len(history))})
    for start, end in pairwise(edges):
        image = image_of(history[start:end], image)
    assert image[3:] == image_of(history)[3:]
    for part in (image.topics.by_id, image.topics.by_name):
        assert len(part) == len(image.topics.by_id)
        assert all(image.topics.by_id[found.id] is found for found in part.values())


@given(histories)
def test_old_images_never_change(history):
    image, kept = EMPTY, []
    for record in history:
        kept.append((image, repr(image)))
        image = image_of([record], image)
    assert all(repr(old) == text for old, text in kept)


@given(histories)
def test_an_image_comes_back_from_its_records(history):
    history = [level("metadata.version", 30), level("eligible.leader.replicas.version", 1)] + [
        record for record in history if not isinstance(record, cluster.FeatureLevelRecord)
    ]
    image = image_of(history)
    data = snapshot_bytes(image.records(), 1)
    again = image_of([record for record, _ in read_snapshot(data).records])
    assert again[3:] == image[3:]


@given(histories, histories)
def test_the_difference_of_two_images_leads_from_one_to_the_other(one, other):
    old, new = image_of(one), image_of(other)
    delta = difference(old, new)
    assert delta.apply(0, 1)[3:] == new[3:]
    assert set(delta.topics.deleted) == set(old.topics.by_id) - set(new.topics.by_id)
    assert delta.topics.created == set(new.topics.by_id) - set(old.topics.by_id)


@given(st.lists(st.dictionaries(st.integers(0, 3000), st.none() | st.integers(1, 9), max_size=400), max_size=12))
def test_a_map_is_a_dict(changes):
    model, made, former = {}, Map(), []
    for change_ in changes:
        former.append((made, dict(model)))
        made = made.changed(change_)
        model = {key: value for key, value in {**model, **change_}.items() if value is not None}
    assert list(made.items()) == sorted(model.items())
    assert len(made) == len(model)
    assert all(dict(old) == then for old, then in former)


@given(st.data())
def test_a_damaged_snapshot_is_refused_or_means_the_same(data):
    """Whatever is cut off or flipped: never another image, never another error."""
    image = image_of([level("metadata.version", 30), *topic(1, partitions=3), broker(1)])
    whole = snapshot_bytes(image.records(), 1)
    damaged = bytearray(whole[: data.draw(st.integers(0, len(whole)), label="cut")])
    for _ in range(data.draw(st.integers(0, 2), label="flips")):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = read_snapshot(bytes(damaged))
    except CorruptSnapshot:
        return
    assert [record for record, _ in found.records] == [record for record, _ in image.records()]


def test_no_flipped_bit_of_a_snapshot_means_something_else():
    image = image_of([level("metadata.version", 30), *topic(1), broker(1)])
    records = [record for record, _ in image.records()]
    whole = snapshot_bytes(image.records(), 1)
    refused = 0
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        try:
            assert [record for record, _ in read_snapshot(bytes(damaged)).records] == records
        except CorruptSnapshot:
            refused += 1
    assert refused > len(whole) * 0.8


def test_one_change_among_100_000_topics():
    image = image_of([record for number in range(100_000) for record in topic(number)])
    cases = [
        [change(77, leader=2)],
        [topics.RemoveTopicRecord(topic_id=topic_id(5))],
        topic(100_000),
    ]
    for change_ in cases:
        after = image_of(change_, image)
        assert after.topics.by_id.copied_entries + after.topics.by_name.copied_entries < 2000
        assert after.cluster is image.cluster
    assert len(image.topics.by_id) == 100_000
    assert image.topics.by_name["topic-77"].partitions[0].leader == 1


def test_one_change_of_a_topic_with_10_000_partitions():
    image = image_of(topic(1, partitions=10_000))
    after = image_of([change(1, 9_999, leader=3)], image)
    assert after.topics.by_id[topic_id(1)].partitions.copied_entries < 2000
    with pytest.raises(KeyError):
        after.topics.by_id[topic_id(1)].partitions[10_000]
