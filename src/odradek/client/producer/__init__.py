"""The producer's cores: sequences of batches, transactions, and the sender that puts both to work."""
