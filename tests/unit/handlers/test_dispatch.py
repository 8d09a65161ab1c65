"""A frame's way to its answer: what is answered, what closes the connection, what waits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handler_kit import Handlers, Peer, decoded, framed, register
from odradek.handlers import table
from odradek.handlers.faults import FaultAction
from odradek.handlers.permission import on_cluster
from odradek.protocol import errors, releases
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.reactor.file_range import FileRange
from odradek.reactor.pending import Pending
from odradek.security.acl import ALTER, CLUSTER

HEARTBEAT = 12


@pytest.fixture
def on_heartbeat(monkeypatch):
    """Registers a handler for an API that no file serves yet; it is gone after the test."""
    monkeypatch.setitem(table._SERVED, HEARTBEAT, "b")

    def answered_by(handler, **options):
        register(monkeypatch, HeartbeatRequest, handler, **options)
        return Handlers()

    return answered_by


def beat(handlers, version=4):
    return handlers.dispatcher.serve(Peer(), memoryview(framed(HeartbeatRequest(group_id="g"), version)))


@pytest.mark.contract("D40")
def test_a_function_is_answered_at_once_with_its_correlation_id(on_heartbeat):
    handlers = on_heartbeat(lambda call, request: HeartbeatResponse(throttle_time_ms=len(request.group_id)))
    for version in range(5):  # 4 is flexible, and so is its response header
        response = decoded(beat(handlers, version), HEARTBEAT, version)
        assert response.throttle_time_ms == (1 if version else 0)


@pytest.mark.contract("E30", "E33")
def test_a_call_knows_who_asked(on_heartbeat):
    seen = []

    def handler(call, request):
        seen.append((call.key, call.version, call.correlation_id, call.client_id, call.listener, str(call.principal)))
        return HeartbeatResponse()

    handlers = on_heartbeat(handler)
    beat(handlers, 4)
    handlers.dispatcher.serve(Peer(), memoryview(framed(HeartbeatRequest(), 3, client_id=None, correlation_id=-2)))
    assert seen == [
        (HEARTBEAT, 4, 7, "tester", "PLAINTEXT", "User:ANONYMOUS"),
        (HEARTBEAT, 3, -2, None, "PLAINTEXT", "User:ANONYMOUS"),
    ]


@pytest.mark.contract("E49")
def test_no_answer_is_none(on_heartbeat):
    assert beat(on_heartbeat(lambda call, request: None)) is None


def test_an_error_of_the_table_becomes_the_response(on_heartbeat):
    def handler(call, request):
        raise errors.IllegalGeneration

    handlers = on_heartbeat(handler)
    assert decoded(beat(handlers), HEARTBEAT, 4).error_code == 22
    assert handlers.errors == []


@pytest.mark.contract("E46")
def test_an_unexpected_error_is_told_once_and_answered(on_heartbeat):
    def handler(call, request):
        raise ZeroDivisionError

    handlers = on_heartbeat(handler)
    assert decoded(beat(handlers), HEARTBEAT, 4).error_code == -1
    assert [type(error) for error in handlers.errors] == [ZeroDivisionError]


def test_an_answer_that_cannot_be_encoded_is_answered_as_unexpected(on_heartbeat):
    handlers = on_heartbeat(lambda call, request: HeartbeatResponse(error_code=1 << 20))
    assert decoded(beat(handlers), HEARTBEAT, 4).error_code == -1
    assert len(handlers.errors) == 1


def test_a_refusal_that_fails_closes_the_connection(on_heartbeat):
    def handler(call, request):
        raise errors.IllegalGeneration

    handlers = on_heartbeat(handler, refuse=lambda request, error, version: None)
    with pytest.raises(PeerProtocolError):
        beat(handlers)
    assert len(handlers.errors) == 1


def test_a_coroutine_that_need_not_wait_is_answered_at_once(on_heartbeat):
    async def handler(call, request):
        return HeartbeatResponse()

    assert isinstance(beat(on_heartbeat(handler)), list)


@pytest.mark.parametrize("error", [None, errors.RebalanceInProgress(), ZeroDivisionError()])
def test_a_coroutine_that_waits_is_parked(on_heartbeat, error):
    waits = []

    async def handler(call, request):
        waits.append(call.services.loop.pending())
        await waits[0]
        return HeartbeatResponse(throttle_time_ms=5)

    handlers = on_heartbeat(handler)
    parked = beat(handlers)
    assert isinstance(parked, Pending)
    assert not parked.is_done
    waits[0].resolve(None) if error is None else waits[0].fail(error)
    response = decoded(handlers.settled(parked), HEARTBEAT, 4)
    expected = {None: 0, errors.RebalanceInProgress: 27, ZeroDivisionError: -1}[error and type(error)]
    assert response.error_code == expected
    assert response.throttle_time_ms == (5 if error is None else 0)
    assert len(handlers.errors) == (type(error) is ZeroDivisionError)


def test_a_pending_that_a_function_returns_is_parked(on_heartbeat):
    handlers = on_heartbeat(lambda call, request: call.services.loop.sleep(50))
    assert handlers.settled(beat(handlers)) is None  # a sleep is worth None: no answer


def test_what_the_whole_request_needs_is_asked_first(on_heartbeat):
    class Nobody:
        def authorize(self, call, operation, resource_type, name):
            assert (operation, resource_type, name) == (ALTER, CLUSTER, "kafka-cluster")
            return False

    handlers = on_heartbeat(lambda call, request: HeartbeatResponse(), allow=on_cluster(ALTER))
    assert decoded(beat(handlers), HEARTBEAT, 4).error_code == 0
    handlers.services.authorizer = Nobody()
    assert decoded(beat(handlers), HEARTBEAT, 4).error_code == 31


# Without a wire


@pytest.mark.parametrize("kind", ["function", "coroutine", "error", "bug"])
def test_a_request_of_our_own_is_answered_without_bytes(on_heartbeat, kind):
    def function(call, request):
        if kind == "error":
            raise errors.IllegalGeneration
        if kind == "bug":
            raise ZeroDivisionError
        return HeartbeatResponse(throttle_time_ms=9)

    async def coroutine(call, request):
        await call.services.loop.sleep(3)
        return HeartbeatResponse(throttle_time_ms=9)

    handlers = on_heartbeat(coroutine if kind == "coroutine" else function)
    pending = handlers.dispatcher.serve_local(HeartbeatRequest(), 4, principal="User:alice", listener="INTERNAL")
    response = handlers.settled(pending)
    assert response.error_code == {"error": 22, "bug": -1}.get(kind, 0)
    assert response.throttle_time_ms == (0 if kind in ("error", "bug") else 9)


# What closes the connection


def refused(handlers, frame):
    with pytest.raises(PeerProtocolError):
        handlers.dispatcher.serve(Peer(), memoryview(bytes.fromhex(frame)))


@pytest.mark.contract("E50")
@pytest.mark.parametrize(
    "frame",
    [
        "",
        "0012",
        "001200030000000700",  # one byte short of a header
        "03e7000000000007000000",  # API 999
        "ffff0000000000070000",  # API -1
        "0000ffff000000070000",  # Produce -1
        "000000000000000700000001000003e800000000",  # Produce 0, which a 4.3 advertises and does not read
        "000100030000000700000000",  # Fetch 3
        "0034000000000007000000",  # Vote, on a broker
        "000c000400000007000000",  # Heartbeat, not served yet
        "00120063000000070000",  # ApiVersions 99 without the tags of its header
        "00030001000000077fff",  # a client id beyond the frame
        "0003000100000007000180" + "ffffffff",  # a client id that is no UTF-8
        "00030001000000070000" + "7fffffff",  # an array beyond the frame
        "0003000c00000007000000" + "ff",  # a body that ends in the middle
        "00030009000000070000" + "01" + "ff" * 4,  # a tag count that never ends
    ],
)
def test_frames_that_close_the_connection(frame):
    refused(Handlers(), frame)


def test_an_unsupported_version_of_api_versions_gets_the_right_range():
    frame = bytes.fromhex("0012006300000007000000010100")
    for release, expected in ((releases.RELEASE_3_3, "03"), (releases.RELEASE_4_3, "04")):
        handlers = Handlers(release=release)
        answer = b"".join(handlers.dispatcher.serve(Peer(), memoryview(frame)))
        assert answer.hex() == "00000010" + "00000007002300000001" + "0012000000" + expected


def test_unknown_tags_in_a_header_are_skipped():
    frame = bytes.fromhex("0012000300000007" + "0000" + "01e400027a7a" + "0461626304312e3000")
    response = decoded(Handlers().dispatcher.serve(Peer(), memoryview(frame)), 18, 3)
    assert response.error_code == 0


def test_trailing_bytes_are_ignored():
    handlers = Handlers()
    frame = framed(MetadataRequest(topics=[]), 1) + b"xxxxxx"
    assert decoded(handlers.dispatcher.serve(Peer(), memoryview(frame)), 3, 1).topics == []


@settings(max_examples=300, deadline=None)
@given(
    key=st.sampled_from([*table.keys(releases.BROKER), 10, 999]).filter(lambda key: key in HARMLESS),
    version=st.integers(-1, 14),
    rest=st.binary(max_size=60),
)
def test_any_garbage_is_answered_or_closes_the_connection(key, version, rest):
    frame = key.to_bytes(2, "big") + (version & 0xFFFF).to_bytes(2, "big") + b"\0\0\0\7" + rest
    try:
        answer = GARBAGE_TAKER.dispatcher.serve(Peer(), memoryview(frame))
    except PeerProtocolError:
        return
    assert isinstance(answer, list)
    assert GARBAGE_TAKER.errors == []


HARMLESS = {3, 17, 18, 29, 32, 36, 41, 48, 50, 60, 71, 72, 74, 75, 10, 999}  # answered at once, from the image alone
GARBAGE_TAKER = Handlers()


# Faults


class Fault:
    def __init__(self, action):
        self.action = action

    def before(self, call, request):
        return self.action


def with_fault(**action):
    handlers = Handlers()
    handlers.dispatcher.faults = Fault(FaultAction(**action))
    frame = bytearray(framed(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3))
    return handlers, frame


def test_a_fault_may_let_a_request_pass():
    handlers, frame = with_fault()
    handlers.dispatcher.faults.action = None
    assert isinstance(handlers.dispatcher.serve(Peer(), memoryview(frame)), list)


def test_a_fault_answers_with_an_error():
    handlers, frame = with_fault(error_code=7)
    assert decoded(handlers.dispatcher.serve(Peer(), memoryview(frame)), 18, 3).error_code == 7


def test_a_fault_disconnects():
    handlers, frame = with_fault(disconnect=True)
    with pytest.raises(PeerProtocolError):
        handlers.dispatcher.serve(Peer(), memoryview(frame))


def test_a_lost_response_leaves_the_connection_silent_and_then_closes_it():
    handlers, frame = with_fault(drop_response=True, hang_ms=300)
    peer = Peer()
    started_ms = handlers.node.clock.mono_ms()
    parked = handlers.dispatcher.serve(peer, memoryview(frame))
    assert peer.client_software_name == "a", "the request is carried out"
    with pytest.raises(PeerProtocolError, match="lost"):
        handlers.settled(parked)
    assert handlers.node.clock.mono_ms() - started_ms >= 300


def test_a_lost_response_without_an_end_leaves_the_connection_to_its_client():
    handlers, frame = with_fault(drop_response=True, hang_ms=None)
    parked = handlers.dispatcher.serve(Peer(), memoryview(frame))
    handlers.node.attend()
    handlers.world.run_for(3_600_000)
    assert not parked.is_done
    assert parked.cancel(), "as the connection does when its client closes it"


def test_a_fault_stands_in_for_the_handler_and_may_ask_it():
    async def stand_in(call, request, handle, refuse):
        assert refuse(request, errors.NotController(), call.version).error_code == errors.NotController.code
        response = await handle(request)
        response.throttle_time_ms = 11
        return response

    handlers, frame = with_fault(stand_in=stand_in)
    response = decoded(handlers.settled(handlers.dispatcher.serve(Peer(), memoryview(frame))), 18, 3)
    assert (response.error_code, response.throttle_time_ms) == (0, 11)
    assert response.api_keys


def test_no_fault_comes_before_the_authentication():
    handlers, frame = with_fault(delay_ms=500)
    peer = Peer()
    peer.authenticator = object()
    assert decoded(handlers.dispatcher.serve(peer, memoryview(frame)), 18, 3).error_code == 0


def test_a_delayed_request_does_not_read_the_frame_that_is_gone():
    handlers, frame = with_fault(delay_ms=500)
    peer = Peer()
    started_ms = handlers.node.clock.mono_ms()
    parked = handlers.dispatcher.serve(peer, memoryview(frame))
    frame[:] = b"\xff" * len(frame)
    assert decoded(handlers.settled(parked), 18, 3).error_code == 0
    assert peer.client_software_name == "a"
    assert handlers.node.clock.mono_ms() - started_ms >= 500


# Nobody waits any more


@pytest.mark.parametrize("is_read", [True, False])
def test_when_the_caller_is_gone_a_read_is_given_up_and_a_change_carried_out(on_heartbeat, is_read):
    waits = []

    def handler(call, request):
        waits.append(call.services.loop.pending())
        return waits[0]

    handlers = on_heartbeat(handler, is_read=is_read)
    parked = beat(handlers)
    parked.cancel()
    assert waits[0].is_done == is_read
    waits[0].resolve(HeartbeatResponse())
    handlers.node.attend()
    handlers.world.run_until(lambda: False, 10)
    assert handlers.errors == []


class Range(FileRange):
    """A range of a file that is nowhere: it only knows whether it was released."""

    def __init__(self):
        self.size = 3
        self.is_released = False

    def release(self):
        self.is_released = True


def test_an_answer_that_comes_too_late_lets_its_files_go(on_heartbeat, monkeypatch):
    waits = []

    def handler(call, request):
        waits.append(call.services.loop.pending())
        return waits[0]

    handlers = on_heartbeat(handler)
    records = Range()
    monkeypatch.setattr("odradek.handlers.dispatch._encode_response", lambda *_: [b"head", records])
    parked = beat(handlers)
    parked.cancel()
    waits[0].resolve(HeartbeatResponse())
    handlers.node.attend()
    assert handlers.world.run_until(lambda: records.is_released, 1000)


@pytest.mark.contract("F4")
def test_whoever_waits_for_an_answer_is_called_once(on_heartbeat):
    waits, told = [], []

    def handler(call, request):
        waits.append(call.services.loop.pending())
        return waits[0]

    handlers = on_heartbeat(handler)
    parked = beat(handlers)
    parked.when_done(told.append)
    waits[0].resolve(HeartbeatResponse(error_code=5))
    assert not told, "not within the call that delivers"
    handlers.node.attend()
    assert handlers.world.run_until(lambda: told, 1000)
    assert told == [parked] and decoded(parked.value(), HEARTBEAT, 4).error_code == 5


def test_a_fault_is_played_to_its_end_when_the_caller_is_gone():
    handlers, frame = with_fault(delay_ms=500)
    peer = Peer()
    handlers.dispatcher.serve(peer, memoryview(frame)).cancel()
    handlers.node.attend()
    assert handlers.world.run_until(lambda: peer.client_software_name == "a", 1000)


def test_a_fault_that_is_played_for_nobody_lets_the_files_of_its_answer_go(monkeypatch):
    handlers, frame = with_fault(delay_ms=500)
    records = Range()
    monkeypatch.setattr("odradek.handlers.dispatch._encode_response", lambda *_: [b"head", records])
    handlers.dispatcher.serve(Peer(), memoryview(frame)).cancel()
    handlers.node.attend()
    assert handlers.world.run_until(lambda: records.is_released, 1000)
