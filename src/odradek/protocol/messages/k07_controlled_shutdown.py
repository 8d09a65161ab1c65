"""ControlledShutdown, API key 7: a broker asks the ZooKeeper controller to move its leaders away before it stops.

A KRaft broker says so in BrokerHeartbeat. The response lists the partitions that it still leads.

Versions 0-3, flexible from 3. Kafka 3.3 and 3.9 have 0-3; gone with ZooKeeper in 4.0.

     1  same fields; the header carries the client id, in version 0 it has none (request header 0)
     2  request: broker epoch (KIP-380)
     3  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, int64, string


class ControlledShutdownRequest(Request, key=7, versions="0-3", flexible="3+"):
    broker_id    = int32()
    broker_epoch = int64("2+", default=-1, ignorable=True)


class RemainingPartition(Struct):
    topic_name      = string()
    partition_index = int32()


class ControlledShutdownResponse(Response, key=7, versions="0-3", flexible="3+"):
    error_code           = int16()
    remaining_partitions = array(RemainingPartition)
