"""Groups of the streams protocol (KIP-1071): the broker knows the topology and assigns its tasks."""
