"""Keywords as other clients spell them: whoever gives one is told ours."""

import asyncio

import pytest

import odradek
from odradek import aio

CONSUMER = [
    ("poll", (), {"timeout_ms": 100}, "poll() has no timeout_ms: give timeout, in seconds"),
    ("poll", (), {"max_messages": 100}, "poll() has no max_messages: give max_records"),
    ("poll", (), {"deadline": 1}, "poll() has no deadline"),
    ("poll_arrow", (), {"timeout_ms": 100}, "poll_arrow() has no timeout_ms: give timeout, in seconds"),
    ("position", (("t", 0),), {"timeout_ms": 100}, "position() has no timeout_ms: give timeout, in seconds"),
    ("commit", (), {"timeout_ms": 100}, "commit_sync() has no timeout_ms: give timeout, in seconds"),
    ("committed", ([("t", 0)],), {"metadata": True}, "committed() has no metadata: leave it out"),
    ("subscribe", (), {"pattern": "a.*"}, "subscribe() has no pattern: give topics=re.compile(...)"),
    ("subscribe", (["t"],), {"on_assign": print}, "subscribe() has no on_assign: give on_assigned"),
    ("subscribe", (), {}, "there are no topics: give names, or a pattern"),
    ("close", (), {"autocommit": False}, "close() has no autocommit: give commit=False to commit nothing"),
]
PRODUCER = [
    ("flush", (), {"timeout_ms": 100}, "flush() has no timeout_ms: give timeout, in seconds"),
    ("close", (), {"timeout_ms": 100}, "close() has no timeout_ms: give timeout, in seconds"),
]
CASES = [("KafkaConsumer", *each) for each in CONSUMER] + [("KafkaProducer", *each) for each in PRODUCER]


@pytest.mark.parametrize(("kind", "method", "arguments", "keywords", "told"), CASES)
def test_a_keyword_of_another_client_is_told_ours(kind, method, arguments, keywords, told):
    configs = {"group_id": "g"} if kind == "KafkaConsumer" else {}
    with getattr(odradek, kind)(bootstrap_servers="localhost:1", **configs) as client:
        with pytest.raises(TypeError) as raised:
            getattr(client, method)(*arguments, **keywords)
        assert str(raised.value).startswith(told)


@pytest.mark.parametrize(("kind", "method", "arguments", "keywords", "told"), CASES)
def test_in_asyncio_as_well(kind, method, arguments, keywords, told):
    async def ask():
        configs = {"group_id": "g"} if kind == "KafkaConsumer" else {}
        async with getattr(aio, kind)(bootstrap_servers="localhost:1", **configs) as client:
            with pytest.raises(TypeError) as raised:
                await getattr(client, method)(*arguments, **keywords)
            assert str(raised.value).startswith(told)

    asyncio.run(asyncio.wait_for(ask(), 60))
