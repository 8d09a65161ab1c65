"""What the active controller answers on its own listener: thin over `controller.QuorumController` and the quorum."""
