"""`python -m bench [PART ...]`: every figure of the README, or the parts named."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

PARTS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "codec": ("message codec", lambda part: part.main()),
    "records": ("record batches", lambda part: part.main()),
    "imports": ("imports", lambda part: part.main()),
    "log": ("the log of a partition", lambda part: part.main([])),
    "log_manager": ("many partitions", lambda part: part.main()),
    "cleaner": ("compaction", lambda part: part.main()),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    names = parser.parse_args().parts or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    for name in names:
        title, run = PARTS[name]
        print(f"== {title}", flush=True)
        run(import_module(f"bench.{name}"))
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
