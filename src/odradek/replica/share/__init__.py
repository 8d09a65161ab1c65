"""Share-partitions (KIP-932): partitions whose records several consumers of one group take turns with."""
