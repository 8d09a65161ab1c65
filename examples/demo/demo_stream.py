"""An hour in a shop: what visitors click and order, and what of it is sent when. The same seed is the same hour.

It is not tidy. Some events are sent minutes after they have happened, some are sent twice, a few records are no events
at all, and for three minutes a robot clicks on one product as fast as it can. Long after the hour comes one last
visitor: by that click and that order Spark knows that the hour is over.

An event is sent in a minute of the shop's clock. Everything of a minute is written before the next one begins, so that
nobody sees an event later than LATE_MINUTES_MAX minutes after it: less than the watermark allows.
"""

import json
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

CLICKS, ORDERS = "clicks", "orders"
OPENS_AT = int(datetime(2026, 11, 27, 18, tzinfo=UTC).timestamp())
MINUTES = 60
CLOSES_AT = OPENS_AT + 3 * 3600  # the last visitor
LATE_MINUTES_MAX = 3

PRODUCTS = ("lamp", "chair", "desk", "shelf", "rug", "mirror", "sofa", "clock", "vase", "stool", "bed", "plant")
ROBOT, ROBOT_PRODUCT, ROBOT_MINUTES, ROBOT_CLICKS = "visitor-13", "clock", range(37, 40), 900

_VISITS_A_MINUTE, _VISITORS = 120, 4000
_IS_LATE, _IS_TWICE, _BUYS = 0.03, 0.02, 0.25


@dataclass(frozen=True)
class Click:
    """`at` is in seconds since 1970."""

    click_id: int
    visitor: str
    product: str
    at: int


@dataclass(frozen=True)
class Order:
    order_id: int
    visitor: str
    product: str
    cents: int
    at: int


@dataclass(frozen=True)
class Sent:
    topic: str
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Hour:
    """`minutes` is what is sent, minute after minute; all else is what it was made of, each event once."""

    clicks: Sequence[Click]
    orders: Sequence[Order]
    unreadable: Sequence[Sent]
    late: int
    twice: int
    minutes: Sequence[Sequence[Sent]]

    @property
    def sent(self) -> int:
        return sum(map(len, self.minutes))


def hour(seed: int) -> Hour:
    chance = random.Random(seed)
    clicks, orders = _visits(chance)
    clicks += _robot(chance, len(clicks))
    unreadable = _unreadable(clicks[0], orders[0])
    clicks.append(Click(len(clicks), "visitor-last", "lamp", CLOSES_AT))
    orders.append(Order(len(orders), "visitor-last", "lamp", 4900, CLOSES_AT))
    schedule = _Schedule(chance)
    for event in [*clicks, *orders]:
        schedule.add(event)
    for place, record in enumerate(unreadable):
        schedule.minutes[5 + 6 * place].append(record)
    return Hour(clicks, orders, unreadable, schedule.late, schedule.twice, schedule.shuffled())


def _visits(chance: random.Random) -> tuple[list[Click], list[Order]]:
    """A visitor looks at a few products within a minute, and may order the last one some minutes later."""
    clicks: list[Click] = []
    orders: list[Order] = []
    prices = {product: 100 * chance.randint(15, 900) + 90 for product in PRODUCTS}
    for minute in range(MINUTES):
        for _ in range(_visits_in(minute, chance)):
            visitor = f"visitor-{chance.randint(100, _VISITORS)}"
            at = OPENS_AT + 60 * minute + chance.randint(0, 20)
            for _ in range(chance.randint(1, 6)):
                product = chance.choices(PRODUCTS, weights=range(len(PRODUCTS), 0, -1))[0]
                clicks.append(Click(len(clicks), visitor, product, at))
                at = min(at + chance.randint(1, 9), OPENS_AT + 60 * minute + 59)
            ordered_at = at + chance.randint(5, 300)
            if chance.random() < _BUYS and ordered_at < OPENS_AT + 60 * MINUTES:
                orders.append(Order(len(orders), visitor, product, prices[product], ordered_at))
    return clicks, orders


def _visits_in(minute: int, chance: random.Random) -> int:
    return round(_VISITS_A_MINUTE * (0.8 + 0.4 * math.sin(math.pi * minute / MINUTES)) + chance.uniform(-10, 10))


def _robot(chance: random.Random, first_id: int) -> list[Click]:
    times = [OPENS_AT + 60 * minute + chance.randint(0, 59) for minute in ROBOT_MINUTES for _ in range(ROBOT_CLICKS)]
    return [Click(first_id + place, ROBOT, ROBOT_PRODUCT, at) for place, at in enumerate(times)]


def _unreadable(click: Click, order: Order) -> list[Sent]:
    """What comes along in every real topic."""
    return [
        Sent(CLICKS, b"", b"\xff\xfe\x00\x01"),
        Sent(CLICKS, b"", encoded(click)[:-9]),
        Sent(CLICKS, b"", b"GET /health HTTP/1.1"),
        Sent(CLICKS, b"", encoded(click).replace(b'"click_id": 0, ', b"")),
        Sent(ORDERS, b"", b""),
        Sent(ORDERS, b"", encoded(order)[:-1]),
        Sent(ORDERS, b"", encoded(order).replace(b'"cents": ', b'"cents": "about" ')),
    ]


def encoded(event: Click | Order) -> bytes:
    return json.dumps({**asdict(event), "at": datetime.fromtimestamp(event.at, UTC).isoformat()}).encode()


class _Schedule:
    """In which minute of the shop's clock an event is sent; the last minute is that of the last visitor."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.minutes: list[list[Sent]] = [[] for _ in range(MINUTES + LATE_MINUTES_MAX + 1)]
        self.late = self.twice = 0

    def add(self, event: Click | Order) -> None:
        sent = Sent(CLICKS if isinstance(event, Click) else ORDERS, event.visitor.encode(), encoded(event))
        if event.at == CLOSES_AT:
            self.minutes[-1].append(sent)
            return
        minute = (event.at - OPENS_AT) // 60
        if self._chance.random() < _IS_LATE:
            self.late += 1
            minute += self._chance.randint(1, LATE_MINUTES_MAX - 1)
        self.minutes[minute].append(sent)
        if self._chance.random() < _IS_TWICE:
            self.twice += 1
            self.minutes[minute + self._chance.randint(0, 1)].append(sent)

    def shuffled(self) -> list[list[Sent]]:
        for each in self.minutes:
            self._chance.shuffle(each)
        return self.minutes
