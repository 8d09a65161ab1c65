"""Mistakes that a group coordinator or a member must not make, each put into the code on purpose.

`MUTANTS[name](patch)` makes one; `KIND[name]` is the kind of story in which it matters (see `group_story.KINDS`).
"""

from odradek.client.consumer.classic_membership import ClassicMembership
from odradek.client.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.group import commits
from odradek.coordinator.group.classic import joining, rebalancing, syncing
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.consumer import commits as consumer_commits
from odradek.coordinator.group.consumer import heartbeat, migration, reconciliation, target
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.group.offsets import OffsetStore
from odradek.protocol import errors
from odradek.replica import produce as replica_produce
from odradek.replica.leader import Leader
from odradek.replicated.runtime import Runtime, _finish

# The runtime and the log


def answer_before_the_commit(patch):
    patch.setattr(
        Runtime, "_answer_when_committed", lambda self, pending, response, error: _finish(pending, response, error)
    )


def acknowledge_before_the_flush(patch):
    async def flush(leader, log):
        leader.partition.topic.manager.logs.flush(log)

    async def after_flush(replicas, leader, info, flushed, request):
        return info

    patch.setattr(Leader, "_flush", flush)
    patch.setattr(replica_produce, "_after_flush", after_flush)


def forget_offsets_at_a_start(patch):
    loaded = GroupCore.loaded

    def forgetful(self, now):
        self.offsets = OffsetStore()
        loaded(self, now)

    patch.setattr(GroupCore, "loaded", forgetful)


def forget_members_at_a_start(patch):
    loaded = GroupCore.loaded

    def forgetful(self, now):
        self.classic.groups.clear()
        loaded(self, now)

    patch.setattr(GroupCore, "loaded", forgetful)


def begin_no_sessions_at_a_start(patch):
    """Who does not come back stays for ever."""
    patch.setattr(GroupCore, "loaded", lambda self, now: None)


# Classic groups


def never_reset_a_session(patch):
    begin = ClassicGroups.begin_session

    def once(self, group, member, now, timeout_ms=None):
        if self.deadlines.get(("session", group.group_id, member.member_id)) is None:
            begin(self, group, member, now, timeout_ms)

    patch.setattr(ClassicGroups, "begin_session", once)


def end_sessions_too_early(patch):
    begin = ClassicGroups.begin_session

    def halved(self, group, member, now, timeout_ms=None):
        begin(self, group, member, now, (member.session_timeout_ms if timeout_ms is None else timeout_ms) // 4)

    patch.setattr(ClassicGroups, "begin_session", halved)


def take_commits_of_any_generation(patch):
    checked = commits._checked

    def unchecked(rooms, sender, *, is_transactional=False):
        try:
            return checked(rooms, sender, is_transactional=is_transactional)
        except errors.IllegalGeneration:
            return None

    patch.setattr(commits, "_checked", unchecked)


def take_commits_of_strangers(patch):
    checked = commits._checked

    def unchecked(rooms, sender, *, is_transactional=False):
        try:
            return checked(rooms, sender, is_transactional=is_transactional)
        except errors.KafkaError:
            return None

    patch.setattr(commits, "_checked", unchecked)


def take_heartbeats_of_any_generation(patch):
    def _checked(groups, group_id, request):
        group = groups.groups.get(group_id)
        if group is None or group.state == "Empty":
            raise errors.UnknownMemberId()
        return group, group.check_member(request.member_id, request.group_instance_id)

    patch.setattr(syncing, "_checked", _checked)


def wait_for_nobody_to_join(patch):
    patch.setattr(
        rebalancing, "is_complete", lambda group: group.state == "PreparingRebalance" and group.joined_count > 0
    )


def tell_nobody_of_a_rebalance(patch):
    beat = syncing.heartbeat

    def quiet(groups, now, request):
        decided = beat(groups, now, request)
        if decided.response.error_code == errors.RebalanceInProgress.code:
            decided.response.error_code = 0
        return decided

    patch.setattr(syncing, "heartbeat", quiet)


def never_count_generations(patch):
    begin = rebalancing._begin_generation

    def same(groups, group, now):
        group.generation -= 1
        return begin(groups, group, now)

    patch.setattr(rebalancing, "_begin_generation", same)


def give_everybody_the_leaders_share(patch):
    sync_answer = syncing.sync_answer
    shares = {}

    def shared(group, assignment):
        share = shares.setdefault((group.group_id, group.generation), assignment)
        return sync_answer(group, share)

    patch.setattr(syncing, "sync_answer", shared)


def keep_members_that_did_not_join(patch):
    """The rebalance ends without them, and they stay."""
    patch.setattr(ClassicGroup, "has_all_joined", property(lambda self: self.joined_count > 0))
    patch.setattr(ClassicGroup, "remove", lambda self, member_id: self.members[member_id])


def lose_the_session_of_one_that_waited_for_its_share(patch):
    """As it was: one whose session was over while it waited never had another."""
    cancel = rebalancing._cancel_syncs

    class _NoSessions:
        def begin_session(self, group, member, now):
            pass

    patch.setattr(rebalancing, "_cancel_syncs", lambda groups, group, now: cancel(_NoSessions(), group, now))


def answer_a_known_member_with_the_old_generation(patch):
    """A member that joins during a rebalance does not take part in it."""
    known = joining._join_known

    def lazy(this):
        group = this.group
        member = group.members.get(this.request.member_id)
        if member is not None and group.state == "PreparingRebalance":
            return this.answer_current(member)
        return known(this)

    patch.setattr(joining, "_join_known", lazy)


# Consumer groups


def give_away_what_is_not_given_back(patch):
    patch.setattr(ConsumerGroup, "is_free", lambda self, member_id, topic_id, partition: True)
    patch.setattr(ConsumerGroup, "validate", lambda self: None)


def take_silence_for_giving_back(patch):
    patch.setattr(reconciliation, "_has", lambda owned, partitions: False)


def check_no_epochs_of_commits(patch):
    def unchecked(groups, group, sender, commits, *, is_transactional):
        return [errors.NONE] * len(commits)

    patch.setattr(consumer_commits, "commit_codes", unchecked)


def take_heartbeats_of_any_epoch(patch):
    patch.setattr(heartbeat, "check_epoch", lambda member, epoch, owned: None)


def never_reset_the_session_of_a_consumer(patch):
    begin = ConsumerGroups.begin_session

    def once(self, group_id, member, now):
        if self.shard.deadlines.get(("consumer session", group_id, member.member_id)) is None:
            begin(self, group_id, member, now)

    patch.setattr(ConsumerGroups, "begin_session", once)


def never_end_the_session_of_a_consumer(patch):
    patch.setattr(ConsumerGroups, "begin_session", lambda self, group_id, member, now: None)
    patch.setattr(ConsumerGroups, "validate", lambda self: None)


def never_look_at_topics(patch):
    patch.setattr(target, "look_at_topics", lambda groups, plan: None)


def upgrade_members_without_their_shares(patch):
    converted = migration._converted
    patch.setattr(
        migration,
        "_converted",
        lambda groups, member, epoch: converted(groups, member, epoch)._replace(assigned={}),
    )


def say_nothing_to_who_missed_an_answer(patch):
    """A member that tells everything is not told everything."""
    patch.setattr(heartbeat, "_is_full", lambda request: False)


# Members


def say_that_it_was_given_back_before_it_was(patch):
    honest = ConsumerMembership._request

    def hasty(self, tells):
        request = honest(self, tells)
        request.topic_partitions = self._said(self.owned & self._wanted())
        return request

    patch.setattr(ConsumerMembership, "_request", hasty)


def keep_everything_while_it_joins(patch):
    """An eager member that does not give back."""
    patch.setattr(ClassicMembership, "_prepare", lambda self: None)


MUTANTS = {
    mutant.__name__: mutant
    for mutant in (
        acknowledge_before_the_flush,
        forget_offsets_at_a_start,
        forget_members_at_a_start,
        begin_no_sessions_at_a_start,
        never_reset_a_session,
        end_sessions_too_early,
        take_commits_of_any_generation,
        take_commits_of_strangers,
        take_heartbeats_of_any_generation,
        wait_for_nobody_to_join,
        tell_nobody_of_a_rebalance,
        never_count_generations,
        give_everybody_the_leaders_share,
        keep_members_that_did_not_join,
        lose_the_session_of_one_that_waited_for_its_share,
        answer_a_known_member_with_the_old_generation,
        give_away_what_is_not_given_back,
        take_silence_for_giving_back,
        check_no_epochs_of_commits,
        take_heartbeats_of_any_epoch,
        never_reset_the_session_of_a_consumer,
        never_end_the_session_of_a_consumer,
        never_look_at_topics,
        upgrade_members_without_their_shares,
        say_nothing_to_who_missed_an_answer,
        say_that_it_was_given_back_before_it_was,
        keep_everything_while_it_joins,
        answer_before_the_commit,
    )
}
_CONSUMER = MUTANTS.keys() & {
    "give_away_what_is_not_given_back",
    "take_silence_for_giving_back",
    "check_no_epochs_of_commits",
    "take_heartbeats_of_any_epoch",
    "never_reset_the_session_of_a_consumer",
    "never_end_the_session_of_a_consumer",
    "never_look_at_topics",
    "say_nothing_to_who_missed_an_answer",
    "say_that_it_was_given_back_before_it_was",
}
STORY = {  # found by a story of `tests/unit/coordinator/group/group_stories`, where it takes a rare moment to matter
    "take_commits_of_any_generation": "the_wrong_generation_is_refused",
    "take_commits_of_strangers": "who_may_commit",
    "never_count_generations": "a_second_member_makes_a_rebalance",
    "lose_the_session_of_one_that_waited_for_its_share": (
        "a_session_that_ended_while_waiting_for_a_share_begins_again"
    ),
    "take_heartbeats_of_any_generation": "the_wrong_generation_is_refused",
    "take_heartbeats_of_any_epoch": "a_lost_answer_is_told_again",
    "never_look_at_topics": "a_topic_grows",
}
KIND = {
    **dict.fromkeys(MUTANTS, "eager"),
    **dict.fromkeys(_CONSUMER, "consumer"),
    "upgrade_members_without_their_shares": "migration",
}
