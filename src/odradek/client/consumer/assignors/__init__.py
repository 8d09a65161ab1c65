"""How the leader of a classic group deals out partitions: one assignor per file."""
