"""The composition root: builds every component, wires them, and owns the order of start and stop."""
