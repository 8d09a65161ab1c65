"""What the verifiable producer and consumer print: a line of JSON for each thing that has happened."""

import json
import sys
import time


def tell(name: str, **fields: object) -> None:
    """`timestamp` first, as Kafka's have it."""
    told = {"timestamp": time.time_ns() // 1_000_000, "name": name, **fields}
    sys.stdout.write(json.dumps(told, separators=(",", ":")) + "\n")
    sys.stdout.flush()
