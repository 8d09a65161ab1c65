"""Groups of the consumer protocol (KIP-848): the coordinator makes the assignment, members only say what they read."""
