"""What a log knows of its producers: sequences, open transactions, and the snapshots of both."""
