"""Every log of a broker in its log dirs: started, checkpointed, moved, set aside, removed, stopped."""
