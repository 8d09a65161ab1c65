"""Whole brokers in a simulation come from the kit of tests/sim."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "sim"))
