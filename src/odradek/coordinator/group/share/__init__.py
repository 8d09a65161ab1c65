"""Share groups (KIP-932): who is a member, and which share-partitions each of them reads."""
