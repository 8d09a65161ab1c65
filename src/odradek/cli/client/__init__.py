"""The commands that talk to a cluster: topics, groups, configs, produce, consume and their kin."""
