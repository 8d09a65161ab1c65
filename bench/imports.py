"""What importing the broker's part of the package costs above a bare interpreter, and what a producer does.

With bytecode, as an installed package has it; it is kept apart from the sources, for as long as this runs.
"""

import os
import subprocess
import sys
import tempfile
import time

BARE = "pass"
PARTS = "import odradek.protocol.declare, odradek.protocol.registry, odradek.records.check, odradek.config.broker"
EVERYTHING = PARTS + "; odradek.protocol.registry.every_message()"
PRODUCER = "import odradek; odradek.KafkaProducer(bootstrap_servers='127.0.0.1:1')"
PROGRAMS = {"bare": BARE, "parts": PARTS, "everything": EVERYTHING, "producer": PRODUCER}
ROUNDS = 15


def main() -> int:
    with tempfile.TemporaryDirectory() as bytecode:
        best = _best_of_each(bytecode)
    bare = best.pop("bare")
    print(f"a bare interpreter                            {bare * 1e3:6.1f} ms")
    print(f"with protocol, records and config            +{(best['parts'] - bare) * 1e3:6.1f} ms")
    print(f"with every message of every API as well      +{(best['everything'] - bare) * 1e3:6.1f} ms")
    print(f"with the package, and a producer made        +{(best['producer'] - bare) * 1e3:6.1f} ms")
    return 0


def _best_of_each(bytecode: str) -> dict[str, float]:
    best = {name: float("inf") for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, code in PROGRAMS.items():
            best[name] = min(best[name], _start(code, bytecode))
    return best


def _start(code: str, bytecode: str) -> float:
    """The first time of each writes the bytecode, and is never the best."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
