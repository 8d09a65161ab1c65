"""Client metrics (KIP-714) without anybody who wants them: the empty subscription that every client gets.

The id of the subscription follows from the client's own id alone. So nothing is kept per client, and one that pushes
with an id of its own making is found out.
"""

import struct
from typing import cast

from crc32c import crc32c

from odradek.handlers.call import BrokerCall

PUSH_INTERVAL_MS = 300_000
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
ACCEPTED_COMPRESSION_TYPES = (ZSTD, LZ4, GZIP, SNAPPY)  # the preferred one first


def subscription_id(client_instance_id: bytes) -> int:
    return cast(int, struct.unpack(">i", struct.pack(">I", crc32c(client_instance_id)))[0])


def bytes_max(call: BrokerCall) -> int:
    return cast(int, call.services.configs.current.config["telemetry.max.bytes"])
