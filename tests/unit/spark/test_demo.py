"""The demo's hour and the totals that it has to have, without Spark: the same for the same seed, and right."""

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime

import pytest

from demo_check import Outcome, outcomes, told
from demo_expected import (
    BEST_SELLERS,
    CLICKS_DEAD,
    MINUTES,
    ORDERS_DEAD,
    SALES,
    TABLE,
    WATERMARK_MINUTES,
    expected,
)
from demo_picture import in_characters
from demo_pipeline import PARTITIONS, declared
from demo_stream import CLICKS, CLOSES_AT, LATE_MINUTES_MAX, OPENS_AT, ORDERS, ROBOT_MINUTES, Click, Hour, Order, hour

SEED = 7


@pytest.fixture(scope="module")
def made():
    return hour(SEED)


def events_of(made, topic):
    """What is sent to a topic, as (minute of sending, event); what is no event is left out."""
    unreadable = {each.value for each in made.unreadable}
    for minute, records in enumerate(made.minutes):
        for each in records:
            if each.topic == topic and each.value not in unreadable:
                yield minute, json.loads(each.value)


def at(event):
    return int(datetime.fromisoformat(event["at"]).timestamp())


def small(clicks=(), orders=()):
    """An hour of a few events and the last visitor."""
    last = Click(99, "last", "lamp", CLOSES_AT), Order(99, "last", "lamp", 1, CLOSES_AT)
    return Hour([*clicks, last[0]], [*orders, last[1]], (), 0, 0, ())


def test_a_seed_is_an_hour(made):
    assert hour(SEED) == made
    assert hour(SEED + 1).minutes != made.minutes


@pytest.mark.parametrize(("topic", "key"), [(CLICKS, "click_id"), (ORDERS, "order_id")])
def test_every_event_is_sent_and_some_are_sent_twice(made, topic, key):
    sent = Counter(event[key] for _, event in events_of(made, topic))
    ids = [getattr(each, key) for each in (made.clicks if topic == CLICKS else made.orders)]
    assert sorted(sent) == sorted(ids) and len(set(ids)) == len(ids)
    assert set(sent.values()) == {1, 2}


def test_the_counts_of_what_is_sent_add_up(made):
    assert made.late > 100 and made.twice > 100
    assert made.sent == len(made.clicks) + len(made.orders) + made.twice + len(made.unreadable)


@pytest.mark.parametrize("topic", [CLICKS, ORDERS])
def test_what_is_late_is_within_the_watermark(made, topic):
    """Whatever a reader has seen of the minutes so far: nothing that comes is behind the watermark."""
    lateness = [minute - (at(event) - OPENS_AT) // 60 for minute, event in events_of(made, topic)]
    assert min(lateness[:-1]) == 0 and 0 < max(lateness) <= LATE_MINUTES_MAX
    assert LATE_MINUTES_MAX + 1 < WATERMARK_MINUTES


def test_the_last_visitor_is_alone_and_long_after(made):
    assert [at(json.loads(each.value)) for each in made.minutes[-1]] == [CLOSES_AT] * 2
    others = [each.at for each in [*made.clicks, *made.orders] if each.at != CLOSES_AT]
    assert max(others) < CLOSES_AT - 60 * (WATERMARK_MINUTES + 10)


def test_the_robot_is_what_is_suspicious(made):
    found = [since for since, _, _, is_suspicious in sorted(expected(made)[MINUTES]) if is_suspicious]
    assert found == [OPENS_AT + 60 * minute for minute in ROBOT_MINUTES]


def test_totals_of_the_whole_hour(made):
    totals = expected(made)
    assert totals[TABLE].total() == len(made.orders)
    assert totals[MINUTES].total() == 60
    assert sum(row[1] for row in totals[MINUTES]) == len(made.clicks) - 1
    assert totals[BEST_SELLERS].total() == 18
    assert {row[0] for row in totals[SALES]} == {order.order_id for order in made.orders}
    assert (totals[CLICKS_DEAD].total(), totals[ORDERS_DEAD].total()) == (4, 3)


def test_minutes_count_clicks_and_visitors():
    clicks = [Click(n, "robot", "lamp", OPENS_AT + n) for n in range(7)]
    clicks.append(Click(8, "anna", "lamp", OPENS_AT + 60))
    assert expected(small(clicks))[MINUTES] == Counter([(OPENS_AT, 7, 1, True), (OPENS_AT + 60, 1, 1, False)])


def test_the_first_three_of_ten_minutes():
    """By what was paid; of two that are equal the one whose name comes later."""
    prices = [("bed", 5), ("rug", 4), ("lamp", 4), ("sofa", 1), ("bed", 5)]
    orders = [Order(n, "anna", product, cents, OPENS_AT + n) for n, (product, cents) in enumerate(prices)]
    assert expected(small(orders=orders))[BEST_SELLERS] == Counter(
        [(OPENS_AT, 1, "bed", 2, 10), (OPENS_AT, 2, "rug", 1, 4), (OPENS_AT, 3, "lamp", 1, 4)]
    )


def test_an_order_follows_clicks_of_ten_minutes():
    order = Order(1, "anna", "lamp", 5, OPENS_AT + 900)
    seconds_before = {1: 0, 2: 600, 3: 601, 4: -1}
    clicks = [Click(number, "anna", "lamp", order.at - before) for number, before in seconds_before.items()]
    clicks += [replace(clicks[0], click_id=5, visitor="bert"), replace(clicks[0], click_id=6, product="bed")]
    found = {row for row in expected(small(clicks, [order]))[SALES] if row[0] == 1}
    assert found == {(1, 1, "lamp", 5, 0), (1, 2, "lamp", 5, 600)}


def test_a_row_too_few_and_a_row_too_many_are_told(made):
    right = expected(made)
    assert all(each.is_right for each in outcomes(right, right))
    row = next(iter(right[TABLE]))
    for word, bag in {"missing": right[TABLE] - Counter([row]), "surplus": right[TABLE] + Counter([row])}.items():
        judged = outcomes(right, {**right, TABLE: bag})
        assert [each.name for each in judged if not each.is_right] == [TABLE]
        assert any("WRONG" in line for line in told(judged))
        assert f"  {TABLE}: {word}: {row} x 1" in told(judged)


def test_a_result_that_is_not_there_at_all_is_wrong():
    assert not Outcome(TABLE, Counter([(1,)]), Counter()).is_right
    assert [each.is_right for each in outcomes({TABLE: Counter([(1,)])}, {})] == [False]


def test_the_pipeline_is_declared_without_a_mistake(tmp_path):
    declaration = declared("127.0.0.1:9092", tmp_path).declaration()
    topics = {sink.target for sink in declaration.sinks if sink.target in PARTITIONS}
    assert topics == {MINUTES, BEST_SELLERS, SALES}
    assert {sink.guarantee for sink in declaration.sinks if sink.target in topics} == {"exactly-once"}


def test_the_picture_in_characters_has_a_column_for_each_minute(made):
    lines = list(in_characters(expected(made)))
    top = next(line for line in lines if "|" in line)
    assert [place - top.index("|") - 1 for place, mark in enumerate(top) if mark == "!"] == list(ROBOT_MINUTES)
