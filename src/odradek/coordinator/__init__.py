"""The coordinators, each a core that runs on the partitions of an internal topic.

    group/        __consumer_offsets     groups of every protocol, and their offsets
    transaction/  __transaction_state    transactional ids
    share/        __share_group_state    what became of each record that a share group was handed

`shard.py` runs one core on one partition that is led here, `shards.py` all of a coordinator.
"""
