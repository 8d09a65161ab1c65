"""What importing the broker's part of the package costs above a bare interpreter."""

import subprocess
import sys
import time

BARE = "pass"
PARTS = "import odradek.protocol.declare, odradek.protocol.registry, odradek.records.check, odradek.config.broker"
EVERYTHING = PARTS + "; odradek.protocol.registry.every_message()"
ROUNDS = 15


def main() -> int:
    best = {name: float("inf") for name in ("bare", "parts", "everything")}
    for _ in range(ROUNDS):
        for name, code in (("bare", BARE), ("parts", PARTS), ("everything", EVERYTHING)):
            best[name] = min(best[name], _start(code))
    print(f"a bare interpreter                            {best['bare'] * 1e3:6.1f} ms")
    print(f"with protocol, records and config            +{(best['parts'] - best['bare']) * 1e3:6.1f} ms")
    print(f"with every message of every API as well      +{(best['everything'] - best['bare']) * 1e3:6.1f} ms")
    return 0


def _start(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
