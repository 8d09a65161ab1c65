"""WriteTxnMarkers: answered when the markers are replicated."""

from odradek.protocol import errors
from odradek.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from replica_kit import NODE, SimPlane

FOLLOWER = 2


def markers(*partitions):
    topics = [WritableTxnMarkerTopic(name="t", partition_indexes=list(partitions))]
    marker = WritableTxnMarker(producer_id=5, producer_epoch=0, transaction_result=True, topics=topics)
    return WriteTxnMarkersRequest(markers=[marker])


def codes(response):
    (marker,) = response.markers
    return {each.partition_index: each.error_code for topic in marker.topics for each in topic.partitions}


def test_a_marker_is_acknowledged_when_the_followers_have_it():
    plane = SimPlane()
    plane.create_topic(partitions=2, replicas=(NODE, FOLLOWER))
    request = markers(0, 1)
    waiting = plane.on_reactor(lambda: plane.send(request, 1))
    plane.world.run_for(1000)
    assert not waiting.is_done and plane.log().log_end_offset == 1
    for index in (0, 1):
        plane.fetch_one(index=index, offset=1, replica_id=FOLLOWER)
    assert codes(plane.decode(plane.wait(waiting), request, 1)) == {0: 0, 1: 0}
    assert plane.log().high_watermark == 1


def test_each_marker_that_is_not_replicated_in_time_is_told():
    plane = SimPlane()
    plane.create_topic(partitions=2, replicas=(NODE, FOLLOWER))
    request = markers(0, 1)
    waiting = plane.on_reactor(lambda: plane.send(request, 1))
    plane.fetch_one(index=1, offset=1, replica_id=FOLLOWER)
    told = codes(plane.decode(plane.wait(waiting), request, 1))
    assert told == {0: errors.RequestTimedOut.code, 1: 0}


def test_what_is_replicated_at_once_or_is_not_there_waits_for_nobody():
    plane = SimPlane()
    plane.create_topic()
    assert codes(plane.ask(markers(0, 9), 1)) == {0: 0, 9: errors.UnknownTopicOrPartition.code}
