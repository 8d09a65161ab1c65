"""What groups with epochs have in common: those of the consumer, the share and the streams protocol."""
