"""From the directory of a partition to its log, whatever a crash has left there. All of it runs in jobs."""
