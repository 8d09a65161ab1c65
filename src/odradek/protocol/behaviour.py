"""How two releases of Kafka behave differently in the same request, capability by capability.

What a release advertises, which features it turns on and which versions its records have is in `releases.py`. This is
the rest: the same bytes come in, and a 3.3 does otherwise than a 4.3. Each difference has a name that says what a
release does; whoever has to know asks for that, never for the number of the release. The defaults are those of a 4.3.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Behaviour(NamedTuple):
    # Producing and transactions

    verifies_transactions: bool = True
    """A leader asks the coordinator before it takes the first record of a transaction (KIP-890)."""
    caps_min_insync_replicas: bool = True
    """`min.insync.replicas` counts as at most the number of replicas, and the high watermark waits for so many."""
    lets_admins_write_markers: bool = True
    """ALTER on the cluster is enough for WriteTxnMarkers; before, only CLUSTER_ACTION was."""

    # Fetching

    empties_records_of_refused_fetches: bool = True
    """A Fetch that is refused as a whole tells of every partition that its records are empty; before, that it has
    none."""

    # Offsets by time

    refuses_unknown_timestamps: bool = True
    """A negative timestamp that names no place is UNSUPPORTED_VERSION; before, it was a time before all records."""
    merges_repeated_partitions: bool = True
    """ListOffsets answers a partition that is named twice once."""
    tells_epoch_of_largest_timestamp: bool = True
    """The record with the largest timestamp comes with its own leader epoch; before, with the newest one."""

    # Groups

    has_share_groups: bool = True
    writes_new_groups: bool = True
    """A classic group is written down before its first member; before, it was only known."""
    refuses_commits_to_no_group: bool = True
    """A member's commit to a group that is not there is GROUP_ID_NOT_FOUND, from the version on that knows the error;
    before, a transactional one was UNKNOWN_MEMBER_ID."""
    shows_assignments_of_unstable_groups: bool = True
    ignores_case_of_states: bool = True
    """ListGroups finds the states that it is asked for however they are spelled."""
    describes_rights_to_group_configs: bool = True
    """The rights to a group that DescribeGroups tells include those to its configs."""

    # Configs

    has_group_configs: bool = True
    has_client_metrics: bool = True
    hides_internal_configs: bool = True
    """Kafka's own internal configs are left out of descriptions, unless somebody has set them."""
    shows_names_as_list: bool = True
    """Messages show several names as `[a, b]`; before, as Scala's `Set(a, b)`."""

    # The controller

    updates_features_together: bool = True
    """One feature that cannot be updated fails them all, and the answers say NONE where nothing is wrong."""
    names_downgraded_metadata_version: bool = True
    """A refused downgrade of metadata.version names the level that it would leave."""
    writes_topics_before_configs: bool = True
    """In the records of a new topic the topic comes first."""
    knows_cordoned_dirs: bool = True
    requires_principal_type: bool = True
    """The principal of a new ACL must have a type and a colon."""
    requires_positive_quotas: bool = True
    """A quota is more than 0; before, one that counts whole things could be 0, and any other whatever it liked."""
    tells_unregistered_broker: bool = True
    """UnregisterBroker of an unknown id has a message; before, the code alone."""

    # Log dirs

    writes_broker_epoch_at_stop: bool = True
    """The file that marks a clean stop has the broker epoch in it; before, it was empty."""
    omits_topics_without_answer: bool = True
    """DescribeLogDirs leaves out topics of which no partition was asked for; before, they stood there without any."""

    def names(self, names: Iterable[str]) -> str:
        shown = ", ".join(names)
        return f"[{shown}]" if self.shows_names_as_list else f"Set({shown})"


OF_4_3 = Behaviour()
OF_3_3 = Behaviour(*(False for _ in Behaviour._fields))
"""A 3.3 does nothing of this."""
