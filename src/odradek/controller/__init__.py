"""The KRaft controller: a core that decides and knows no log, and the driver that runs it on the metadata quorum."""
