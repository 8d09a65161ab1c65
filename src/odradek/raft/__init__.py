"""Kafka's KRaft quorum: a core without I/O for any number of voters, its log and snapshots, the driver of a node."""
