"""The error table, row by row against Kafka's own."""

import json
import pickle
from pathlib import Path

import pytest

from odradek.protocol import errors

DATA = Path(__file__).parents[2] / "golden" / "data"


def kafka_rows():
    """Kafka's rows without NONE; where releases differ, as in 4.3.0."""
    rows = json.loads((DATA / "errors.json").read_text())
    return [{**row, **row.get("differs", {}).get("4.3.0", {})} for row in rows if row["code"] != errors.NONE]


@pytest.mark.parametrize("row", kafka_rows(), ids=lambda row: row["name"])
def test_row_is_kafkas(row):
    error = errors.by_code(row["code"])
    assert (error.code, error.name) == (row["code"], row["name"])
    assert error.retriable is row["retriable"]
    assert error.refreshes_metadata is row["invalid_metadata"]


@pytest.mark.parametrize("row", kafka_rows(), ids=lambda row: row["name"])
def test_class_has_the_name_of_the_code(row):
    camel_case = "".join(word.capitalize() for word in row["name"].split("_"))
    assert getattr(errors, camel_case) is errors.by_code(row["code"])


def test_table_holds_every_row_once_in_the_order_of_codes():
    assert [error.code for error in errors.table()] == sorted(row["code"] for row in kafka_rows())


def test_every_message_is_a_sentence_of_its_own():
    messages = [error.message for error in errors.table()]
    assert len(set(messages)) == len(messages)
    assert all(message[0].isupper() and message.endswith(".") for message in messages)


def test_base_follows_what_the_client_may_do():
    assert issubclass(errors.NotLeaderOrFollower, errors.InvalidMetadataError)
    assert issubclass(errors.NotCoordinator, errors.RetriableError)
    assert not issubclass(errors.NotCoordinator, errors.InvalidMetadataError)
    assert not issubclass(errors.TopicAlreadyExists, errors.RetriableError)


def test_text_is_the_one_given_or_the_default():
    assert str(errors.MessageTooLarge("1048600 bytes")) == "1048600 bytes"
    assert errors.MessageTooLarge("1048600 bytes").message == "1048600 bytes"
    assert str(errors.MessageTooLarge()) == errors.MessageTooLarge.message
    assert str(errors.MessageTooLarge("")) == ""


def test_code_of_a_newer_kafka_is_an_unknown_server_error():
    assert errors.by_code(30_000) is errors.UnknownServerError
    with pytest.raises(errors.UnknownServerError, match="30000"):
        errors.raise_for(30_000)
    with pytest.raises(errors.UnknownServerError, match=r"^the peer's own words$"):
        errors.raise_for(30_000, "the peer's own words")


def test_raise_for_raises_unless_there_is_no_error():
    errors.raise_for(errors.NONE)
    errors.raise_for(errors.NONE, "ignored")
    with pytest.raises(errors.FencedInstanceId, match=r"^member m-1$"):
        errors.raise_for(82, "member m-1")
    with pytest.raises(errors.FencedInstanceId) as caught:
        errors.raise_for(82)
    assert str(caught.value) == errors.FencedInstanceId.message


def test_subclass_without_a_code_travels_as_its_parent():
    class TimestampTooFarAhead(errors.InvalidTimestamp):
        pass

    assert (TimestampTooFarAhead.code, TimestampTooFarAhead.name) == (32, "INVALID_TIMESTAMP")
    assert errors.by_code(32) is errors.InvalidTimestamp


def test_base_classes_travel_as_unknown_server_error():
    for base in (errors.KafkaError, errors.RetriableError, errors.InvalidMetadataError):
        assert (base.code, base.name) == (-1, "UNKNOWN_SERVER_ERROR")
        assert base not in errors.table()


def test_a_code_has_one_class():
    with pytest.raises(TypeError, match="code 2 belongs to CorruptMessage"):

        class Impostor(errors.KafkaError, code=2):
            pass

    assert errors.by_code(2) is errors.CorruptMessage


def test_peer_protocol_error_tells_reason_and_position():
    error = errors.PeerProtocolError("array of 7 in 3 bytes", 12)
    assert (error.reason, error.position) == ("array of 7 in 3 bytes", 12)
    assert str(error) == "array of 7 in 3 bytes at byte 12"


def test_blame_is_never_mixed_up():
    roots = (errors.KafkaError, errors.PeerProtocolError, errors.EncodeError)
    for root in roots:
        assert not any(issubclass(root, other) for other in roots if other is not root)
    assert issubclass(errors.EncodeError, ValueError)


@pytest.mark.parametrize("error", [errors.InvalidRecord("x"), errors.PeerProtocolError("short", 3)], ids=repr)
def test_errors_cross_process_boundaries(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))
