"""What every assignor of classic members holds to, whoever reads what and whatever members claim to have had."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.client.consumer.assignors.assignor import Subscriber
from odradek.client.consumer.assignors.by_name import by_name

TOPICS = ("a", "b", "c")
NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
PLACES = st.tuples(st.sampled_from((*TOPICS, "gone")), st.integers(0, 7))


@st.composite
def groups(draw):
    partitions = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 6)))
    is_equal = draw(st.booleans())
    subscriptions = st.sets(st.sampled_from(TOPICS), min_size=1).map(sorted).map(tuple)
    shared = draw(subscriptions)
    members = []
    for number in range(draw(st.integers(1, 5))):
        owned = tuple(draw(st.lists(PLACES, unique=True, max_size=6)))
        generation = draw(st.integers(-1, 3))
        user_data = by_name("sticky").user_data(frozenset(owned), generation)
        topics = shared if is_equal else draw(subscriptions)
        members.append(Subscriber(f"m{number}", topics, owned, generation, user_data))
    return partitions, members


def read(partitions, members):
    return sorted((t, n) for t in partitions for n in range(partitions[t]) if any(t in m.topics for m in members))


def places(dealt):
    return sorted(place for share in dealt.values() for place in share)


@given(groups())
def test_everything_that_is_read_is_dealt_once_to_one_who_reads_it(group):
    partitions, members = group
    for name in NAMES[:3]:
        dealt = by_name(name).assign(partitions, members)
        assert places(dealt) == read(partitions, members), "G2"
        topics = {member.member_id: member.topics for member in members}
        assert set(dealt) == set(topics)
        assert all(topic in topics[member] for member, share in dealt.items() for topic, _ in share)


@given(groups())
def test_sticky_is_even_where_all_read_the_same(group):
    partitions, members = group
    if len({member.topics for member in members}) == 1:
        sizes = [len(share) for share in by_name("sticky").assign(partitions, members).values()]
        assert max(sizes) - min(sizes) <= 1


@given(groups())
def test_cooperative_deals_nothing_that_another_still_has(group):
    """G1: it comes free only when its member has given it back."""
    partitions, members = group
    dealt = by_name("cooperative-sticky").assign(partitions, members)
    claims = {member.member_id: set(member.owned) for member in members}
    for member, share in dealt.items():
        others = set().union(*(owned for name, owned in claims.items() if name != member))
        assert not (set(share) - claims[member]) & others
    whole = read(partitions, members)
    assert set(places(dealt)) <= set(whole) and len(set(places(dealt))) == len(places(dealt))


@given(groups())
def test_a_second_round_of_sticky_moves_nothing(group):
    partitions, members = group
    sticky = by_name("sticky")
    first = sticky.assign(partitions, members)
    again = [member._replace(user_data=sticky.user_data(frozenset(first[member.member_id]), 4)) for member in members]
    second = sticky.assign(partitions, again)
    assert {name: sorted(share) for name, share in second.items()} == {name: sorted(s) for name, s in first.items()}
