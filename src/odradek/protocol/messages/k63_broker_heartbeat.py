"""BrokerHeartbeat, API key 63: a registered broker says that it lives, and asks to be unfenced or to stop (KIP-631).

To the active controller; needs CLUSTER_ACTION. The response never changed.

Versions 0-2, flexible. Kafka 3.3 has 0, 3.9 0-1, 4.3 0-2.
On controller listeners only.

     1  request: offline log directories (KIP-858)
     2  request: cordoned log directories (KIP-1066)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    array,
    boolean,
    int16,
    int32,
    int64,
    nullable_array,
    uuid,
)


class BrokerHeartbeatRequest(Request, key=63, versions="0-2", flexible="0+"):
    broker_id               = int32()
    broker_epoch            = int64(default=-1)
    current_metadata_offset = int64()
    want_fence              = boolean()
    want_shut_down          = boolean()
    offline_log_dirs        = array(uuid(), "1+", tag=0)
    cordoned_log_dirs       = nullable_array(uuid(), "2+", tag=1)


class BrokerHeartbeatResponse(Response, key=63, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    is_caught_up     = boolean()
    is_fenced        = boolean(default=True)
    should_shut_down = boolean()
