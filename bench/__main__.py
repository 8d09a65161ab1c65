"""`python -m bench [PART ...]`: every figure of the README, or the parts named."""

import argparse
import sys
from importlib import import_module

PARTS = {
    "codec": "message codec",
    "records": "record batches",
    "imports": "imports",
    "log": "the log of a partition",
    "log_manager": "many partitions",
    "recovery": "recovery after a crash",
    "cleaner": "compaction",
    "hostile": "hostile peers and many partitions",
    "turns": "the longest turns of the reactor",
    "broker": "the broker beside Apache Kafka",
    "coordinators": "groups and transactions beside Apache Kafka",
    "sessions": "idle fetch sessions beside Apache Kafka",
    "clients_produce": "producing beside other Python clients",
    "clients_consume": "consuming beside other Python clients",
    "spark": "reading topics in Spark beside its own connector",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    names = parser.parse_args().parts or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    for name in names:
        print(f"== {PARTS[name]}", flush=True)
        import_module(f"bench.{name}").main()
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
