"""`python -m odradek` is the `odradek` command."""

import sys

from odradek.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
