"""The answer to a fetch as a whole: what its partitions tell, or why there is none."""

from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.replica.fetch.partition_data import blank
from odradek.replica.fetch.partition_data import release as release_data
from odradek.replica.fetch.session import NO_SESSION
from odradek.replica.fetch_entry import FetchEntry


def answer_of(told: list[tuple[FetchEntry, PartitionData]], session_id: int) -> FetchResponse:
    """Partitions of one topic stand together where they follow each other."""
    response = blank(FetchResponse)
    topics: list[FetchableTopicResponse] = []
    last: object = None
    for entry, data in told:
        key = entry.topic
        if key != last or not topics:
            topic = blank(FetchableTopicResponse)
            if type(key) is str:
                topic.topic = key
            else:
                topic.topic_id = key  # type: ignore[assignment]
            topic.partitions = [data]
            topics.append(topic)
            last = key
        else:
            topics[-1].partitions.append(data)
    response.responses = topics
    response.session_id = session_id
    return response


def nothing_new(session_id: int) -> FetchResponse:
    """What most fetches of idle readers are told."""
    response = blank(FetchResponse)
    response.error_code = 0  # it is counted: a slot that was written is read faster than a default
    response.responses = []
    response.session_id = session_id
    return response


def refused(error: errors.KafkaError) -> FetchResponse:
    """The whole fetch is refused, over its session."""
    response = FetchResponse()
    response.error_code = error.code
    response.session_id = NO_SESSION
    return response


def release(response: FetchResponse) -> None:
    """Lets go of an answer that nobody takes any more."""
    for topic in response.responses:
        for data in topic.partitions:
            release_data(data)
