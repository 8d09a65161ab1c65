"""AllocateProducerIds, API key 67: a broker gets a block of producer ids from the controller (KIP-730).

It hands them out to InitProducerId. Needs CLUSTER_ACTION.

Version 0, flexible. The same in Kafka 3.3, 3.9 and 4.3.
On controller listeners only; in ZooKeeper mode the broker that is the controller serves it.
"""

from odradek.protocol.declare import Request, Response, int16, int32, int64


class AllocateProducerIdsRequest(Request, key=67, versions="0", flexible="0+"):
    broker_id    = int32()
    broker_epoch = int64(default=-1)


class AllocateProducerIdsResponse(Response, key=67, versions="0", flexible="0+"):
    throttle_time_ms  = int32()
    error_code        = int16()
    producer_id_start = int64()
    producer_id_len   = int32()
