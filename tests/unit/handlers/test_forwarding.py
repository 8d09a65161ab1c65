"""What only the controller can do: handed on in the caller's name and version, and what comes of it."""

import pytest

from handler_kit import Handlers, broker, register, topic
from odradek.handlers.k19_create_topics import refuse_create_topics
from odradek.protocol import errors, releases
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.reactor.slices import SLICE_MS


@pytest.fixture
def controlled(monkeypatch):
    """A broker with a controller that answers CreateTopics as `answer(call, request)` does."""

    def make(answer, **options):
        register(monkeypatch, CreateTopicsRequest, answer, kind=releases.CONTROLLER, refuse=refuse_create_topics)
        handlers = Handlers(broker(), *topic("t"), **options)
        handlers.inter_broker.attach(releases.CONTROLLER, handlers.controller, "CONTROLLER")
        return handlers

    return make


def create(handlers, version=7):
    return handlers.ask(CreateTopicsRequest(topics=[CreatableTopic(name="n", num_partitions=1)]), version)


def created(call, request):
    return CreateTopicsResponse(topics=[CreatableTopicResult(name=topic.name) for topic in request.topics])


@pytest.mark.parametrize("version", range(2, 8))
def test_the_controller_sees_who_asks_and_how(controlled, version):
    seen = []

    def answer(call, request):
        seen.append((call.version, str(call.principal), call.client_id, call.listener))
        return created(call, request)

    response = create(controlled(answer), version)
    assert [topic.name for topic in response.topics] == ["n"]
    assert seen == [(version, "User:ANONYMOUS", "tester", "CONTROLLER")]


@pytest.mark.parametrize(("raised", "code"), [(errors.NotController, 41), (ZeroDivisionError, -1)])
def test_a_controller_that_refuses(controlled, raised, code):
    def answer(call, request):
        raise raised

    assert [topic.error_code for topic in create(controlled(answer)).topics] == [code]


def test_what_closes_a_connection_closes_the_clients_own(controlled):
    def answer(call, request):
        raise PeerProtocolError("numbers that stand for nothing", 0)

    with pytest.raises(PeerProtocolError):
        create(controlled(answer))


def test_without_a_controller_every_topic_is_refused():
    response = create(Handlers(broker()))
    assert [topic.error_code for topic in response.topics] == [errors.BrokerNotAvailable.code]


# Topics that come into being because somebody asks

AUTO_CREATE = {"auto.create.topics.enable": "true", "num.partitions": "4"}


def metadata(handlers, *names, **more):
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **more)
    return {topic.name: topic.error_code for topic in handlers.ask(request, 9).topics}


def test_a_missing_topic_is_created_once_while_it_is_under_way(controlled):
    asked = []

    async def answer(call, request):
        asked.append([(topic.name, topic.num_partitions) for topic in request.topics])
        await call.services.loop.sleep(50)
        return created(call, request)

    handlers = controlled(answer, static=AUTO_CREATE)
    for _ in range(3):
        assert metadata(handlers, "new", "t", "bad name") == {"new": 3, "t": 0, "bad name": 17}
    handlers.node.attend()
    handlers.world.run_until(lambda: bool(asked))
    assert asked == [[("new", 4)]]
    assert handlers.world.run_until(lambda: not handlers.services.auto_creation._in_flight)
    metadata(handlers, "new")
    handlers.node.attend()
    assert handlers.world.run_until(lambda: len(asked) == 2)


def test_a_failed_creation_may_be_tried_again(controlled):
    def answer(call, request):
        raise errors.NotController

    handlers = controlled(answer, static=AUTO_CREATE)
    metadata(handlers, "new")
    handlers.node.attend()
    assert handlers.world.run_until(lambda: not handlers.services.auto_creation._in_flight)
    assert handlers.errors == []


@pytest.mark.parametrize("static", [AUTO_CREATE, {"auto.create.topics.enable": "false"}])
def test_nothing_is_created_unless_client_and_broker_want_it(controlled, static):
    handlers = controlled(created, static=static)
    is_on = static is AUTO_CREATE
    assert metadata(handlers, "new", allow_auto_topic_creation=not is_on) == {"new": 3}
    assert handlers.services._auto_creation is None


# Long answers


def test_a_long_answer_lets_others_in(monkeypatch):
    handlers = Handlers(broker(), *[record for number in range(50) for record in topic(f"t{number}")])
    now = [0]

    def mono_ms():
        now[0] += 1  # every look at the clock takes a millisecond
        return now[0]

    pauses = []
    real_sleep = type(handlers.loop).sleep
    monkeypatch.setattr(type(handlers.loop), "sleep", lambda loop, ms: pauses.append(ms) or real_sleep(loop, ms))
    monkeypatch.setattr(type(handlers.node.clock), "mono_ms", lambda clock: mono_ms())
    response = handlers.ask(MetadataRequest(topics=None), 9)
    assert len(response.topics) == 50
    assert len(pauses) >= 50 // SLICE_MS // 2
