"""What has to come out of the pipeline, worked out in plain Python from what was made: no Spark, no broker, no SQL.

Each result is a bag of rows: how many times each row has to be there. `demo_pipeline.py` says the same in SQL; the
numbers that both need are here.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple

from demo_stream import Click, Hour, Order, Sent

WATERMARK_MINUTES = 5
JOIN_MINUTES = 10
BEST_MINUTES, BEST = 10, 3
SUSPICIOUS_CLICKS = 6  # for each visitor within a minute

MINUTES, BEST_SELLERS, SALES, TABLE = "clicks-per-minute", "best-sellers", "sales", "orders-table"
CLICKS_DEAD, ORDERS_DEAD = "clicks-dead", "orders-dead"

Row = tuple[object, ...]
Bag = Counter[Row]


def expected(hour: Hour) -> Mapping[str, Bag]:
    """By the name of the result. Windows that the watermark has not passed at the end are not told by Spark either."""
    passed = min(max(each.at for each in hour.clicks), max(each.at for each in hour.orders)) - 60 * WATERMARK_MINUTES
    return {
        MINUTES: Counter(_minutes(hour.clicks, passed)),
        BEST_SELLERS: Counter(_best_sellers(hour.orders, passed)),
        SALES: Counter(_sales(hour.clicks, hour.orders)),
        TABLE: Counter(astuple(order) for order in hour.orders),
        CLICKS_DEAD: _dead(hour.unreadable, "clicks"),
        ORDERS_DEAD: _dead(hour.unreadable, "orders"),
    }


def _minutes(clicks: Iterable[Click], passed: int) -> Iterator[Row]:
    """When it began, how many clicks of how many visitors, and whether that is suspicious."""
    visitors: dict[int, list[str]] = defaultdict(list)
    for click in clicks:
        visitors[_start(click.at, 1)].append(click.visitor)
    for since, who in visitors.items():
        if since + 60 <= passed:
            yield since, len(who), len(set(who)), len(who) > SUSPICIOUS_CLICKS * len(set(who))


def _best_sellers(orders: Iterable[Order], passed: int) -> Iterator[Row]:
    """When the window began, the place, the product, how many were ordered, for how much."""
    prices: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for order in orders:
        prices[_start(order.at, BEST_MINUTES)][order.product].append(order.cents)
    for since, by_product in prices.items():
        if since + 60 * BEST_MINUTES > passed:
            continue
        best = sorted(((sum(cents), product, len(cents)) for product, cents in by_product.items()), reverse=True)
        for place, (cents, product, sold) in enumerate(best[:BEST], 1):
            yield since, place, product, sold, cents


def _sales(clicks: Iterable[Click], orders: Iterable[Order]) -> Iterator[Row]:
    """An order and each click of the same visitor on the same product within the minutes before it."""
    looked: dict[tuple[str, str], list[Click]] = defaultdict(list)
    for click in clicks:
        looked[click.visitor, click.product].append(click)
    for order in orders:
        for click in looked[order.visitor, order.product]:
            if 0 <= order.at - click.at <= 60 * JOIN_MINUTES:
                yield order.order_id, click.click_id, order.product, order.cents, order.at - click.at


def _dead(unreadable: Iterable[Sent], topic: str) -> Bag:
    return Counter((each.value,) for each in unreadable if each.topic == topic)


def _start(at: int, minutes: int) -> int:
    return at - at % (60 * minutes)
