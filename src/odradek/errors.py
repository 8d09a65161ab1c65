"""Kafka's errors, for programs that use Odradek: `from odradek.errors import NotLeaderOrFollower`.

One class for each error code of the protocol, named as Kafka names it. Every class and every object has

    code                 the number on the wire
    name                 Kafka's own: NOT_LEADER_OR_FOLLOWER
    message              what went wrong, in a sentence; an object may have one of its own
    retriable            the same request may succeed later: then it is a RetriableError
    refreshes_metadata   it may succeed once the client has asked where things are now: an InvalidMetadataError

All of them are a `KafkaError`. `by_code` gives the class of a code, `table` all classes in the order of their codes. No
code stands for the other two: `PeerProtocolError`, bytes that are no message, and `EncodeError`, a value that does not
fit the field that it was put into.
"""

from odradek.protocol.errors import *  # noqa: F403 - the table is the list of its names
