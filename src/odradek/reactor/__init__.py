"""The ground under broker and client: ports to the outside world, one loop, timers, jobs. It knows nobody above it."""
