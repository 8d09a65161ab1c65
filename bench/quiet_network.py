"""A network of our own for a run: loopback in a fresh network namespace, with a congestion control that does not pace.

BBR paces every flow, which halves what loopback carries, and a broker on the JVM cannot choose for its sockets. Within
a namespace of its own a run may set the default for both sides without touching the machine's, and its ports meet
nobody else's. Where namespaces are not allowed the run goes on with what the machine has, and says so.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
PREFERRED = ("cubic", "reno")  # which of them a namespace may take is up to the kernel
ADDRESS = "192.0.2.1/32"  # of a block that is set aside for documentation
_INSIDE = "ODRADEK_BENCH_NAMESPACE"


def runs_inside(module: str, arguments: list[str]) -> bool:
    """Runs the module within a namespace, to its end; False if we are there already, or cannot be."""
    if os.environ.get(_INSIDE) or shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        return False
    command = [*unshare, sys.executable, "-m", module, *arguments]
    subprocess.run(command, env={**os.environ, _INSIDE: "1"}, check=True)
    return True


def set_up() -> str:
    """Which congestion control both sides have."""
    if os.environ.get(_INSIDE):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # librdkafka resolves an IPv4 address only where a host has one that is not of loopback
        subprocess.run(["ip", "address", "add", ADDRESS, "dev", "lo"], check=True)
        for name in PREFERRED:
            try:
                CONTROL.write_text(name)
                break
            except OSError:
                continue
    return CONTROL.read_text().strip()
