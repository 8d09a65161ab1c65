"""What every client program does: takes `name=value` arguments, runs its scenarios, says how each of them went.

    program.py release=4.3 plaintext=127.0.0.1:9092 ssl=... sasl=... sasl_ssl=... ca=ca.pem only=tls,tail,...

One line per scenario on standard output: its name, `ok` or `FAILED`, the seconds it took and why it failed, with tabs
between. The programs in the other languages print the same.
"""

import sys
import time
import traceback

USER, PASSWORD = "alice", "alice-secret"


class Where:
    """The addresses of the broker's listeners, and what is needed to use them; `only`: the scenarios to run."""

    def __init__(self, arguments):
        given = dict(argument.split("=", 1) for argument in arguments)
        self.addresses = {name: given[name] for name in ("plaintext", "ssl", "sasl", "sasl_ssl")}
        self.ca = given["ca"]
        self.release = given["release"]
        self.only = given["only"].split(",")


def run(scenarios, where):
    for name, scenario in scenarios.items():
        if name in where.only:
            _run_one(name, scenario)


def _run_one(name, scenario):
    started = time.monotonic()
    try:
        scenario()
        outcome, detail = "ok", ""
    except Exception as error:  # noqa: BLE001 - the next scenario must have its turn, whatever this client raises
        traceback.print_exc()
        outcome, detail = "FAILED", f"{type(error).__name__}: {error}".replace("\n", " ").replace("\t", " ")
    sys.stdout.write(f"{name}\t{outcome}\t{time.monotonic() - started:.2f}\t{detail}\n")
    sys.stdout.flush()
