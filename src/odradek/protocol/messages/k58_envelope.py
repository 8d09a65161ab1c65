"""Envelope, API key 58: a broker forwards a client's request to the controller (KIP-590).

It wraps the request as it came, header included, with the client's principal (`principal.py`) and address; the
response wraps the controller's. Needs CLUSTER_ACTION.

Version 0, flexible. The same in Kafka 3.3, 3.9 and 4.3.
On controller listeners only; in ZooKeeper mode the broker that is the controller serves it.
"""

from odradek.protocol.declare import Request, Response, bytes_, int16, nullable_bytes


class EnvelopeRequest(Request, key=58, versions="0", flexible="0+"):
    request_data        = bytes_()
    request_principal   = nullable_bytes(default=b"")
    client_host_address = bytes_()


class EnvelopeResponse(Response, key=58, versions="0", flexible="0+"):
    response_data = nullable_bytes()
    error_code    = int16()
