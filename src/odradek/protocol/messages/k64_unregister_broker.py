"""UnregisterBroker, API key 64: an admin removes the registration of a broker that is gone (KIP-631).

The controller decides.

Version 0, flexible. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.
"""

from odradek.protocol.declare import Request, Response, int16, int32, nullable_string


class UnregisterBrokerRequest(Request, key=64, versions="0", flexible="0+"):
    broker_id = int32()


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
