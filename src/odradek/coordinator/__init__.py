"""The coordinators: groups and transactions, each a core that runs on the partitions of an internal topic."""
