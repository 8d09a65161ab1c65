"""The pipeline: parse, drop what was sent twice, and then count, rank, join and keep.

    clicks -> clean_clicks -> minutes      -> topic clicks-per-minute   (with a flag where something is odd)
    orders -> clean_orders -> best_sellers -> topic best-sellers        (the first three of every ten minutes)
    clean_clicks + clean_orders -> sales   -> topic sales               (which clicks led to an order)
    clean_orders                           -> Parquet
    what cannot be read                    -> topics clicks-dead, orders-dead

Everything but the dead letters is exactly once.
"""

from pathlib import Path

from demo_expected import (
    BEST,
    BEST_MINUTES,
    BEST_SELLERS,
    CLICKS_DEAD,
    JOIN_MINUTES,
    MINUTES,
    ORDERS_DEAD,
    SALES,
    SUSPICIOUS_CLICKS,
    TABLE,
    WATERMARK_MINUTES,
)
from demo_stream import CLICKS, ORDERS
from odradek.spark import Pipeline

PARTITIONS = {CLICKS: 3, ORDERS: 3, MINUTES: 1, BEST_SELLERS: 1, SALES: 2, CLICKS_DEAD: 1, ORDERS_DEAD: 1}
_COMMON = "visitor STRING NOT NULL, product STRING NOT NULL, at TIMESTAMP NOT NULL"


def declared(bootstrap: str, directory: Path) -> Pipeline:
    pipeline = Pipeline(
        "demo",
        checkpoint=str(directory / "checkpoints"),
        trigger="1 second",
        options={"kafka.bootstrap.servers": bootstrap},
    )
    _add_source(pipeline, CLICKS, f"click_id BIGINT NOT NULL, {_COMMON}", CLICKS_DEAD)
    _add_source(pipeline, ORDERS, f"order_id BIGINT NOT NULL, cents BIGINT NOT NULL, {_COMMON}", ORDERS_DEAD)

    @pipeline.step(CLICKS)
    def clean_clicks(clicks):
        return clicks.dropDuplicatesWithinWatermark(["click_id"])

    @pipeline.step(ORDERS)
    def clean_orders(orders):
        return orders.dropDuplicatesWithinWatermark(["order_id"])

    pipeline.sql("minutes", _MINUTES)
    pipeline.sql("sold", _SOLD)
    pipeline.sql("ranked", _RANKED)
    pipeline.sql("best_sellers", _BEST_SELLERS)
    pipeline.sql("sales", _SALES)
    pipeline.sql("order_rows", "SELECT order_id, visitor, product, cents, unix_seconds(at) AS at FROM clean_orders")

    pipeline.sink("minutes", "minutes", topic=MINUTES, key="since", guarantee="exactly-once")
    pipeline.sink("best_sellers", "best_sellers", topic=BEST_SELLERS, key="since", guarantee="exactly-once")
    pipeline.sink("sales", "sales", topic=SALES, key="order_id", guarantee="exactly-once")
    pipeline.sink("table", "order_rows", parquet=str(directory / TABLE))
    return pipeline


def _add_source(pipeline: Pipeline, topic: str, schema: str, dead_letters: str) -> None:
    pipeline.source(
        topic,
        topic=topic,
        decode="json",
        schema=schema,
        event_time="at",
        watermark=f"{WATERMARK_MINUTES} minutes",
        dead_letters=dead_letters,
        options={"startingOffsets": "earliest"},
    )


_MINUTES = f"""
    SELECT unix_seconds(window.start) AS since, count(*) AS clicks, size(collect_set(visitor)) AS visitors,
           count(*) > {SUSPICIOUS_CLICKS} * size(collect_set(visitor)) AS is_suspicious
    FROM clean_clicks
    GROUP BY window(at, '1 minute')
"""

_SOLD = f"""
    SELECT window AS span, product, count(*) AS sold, sum(cents) AS cents
    FROM clean_orders
    GROUP BY window(at, '{BEST_MINUTES} minutes'), product
"""

_RANKED = f"""
    SELECT unix_seconds(window.start) AS since,
           slice(sort_array(collect_list(struct(cents, product, sold)), false), 1, {BEST}) AS best
    FROM sold
    GROUP BY window(span, '{BEST_MINUTES} minutes')
"""

_BEST_SELLERS = """
    SELECT since, place + 1 AS place, one.product, one.sold, one.cents
    FROM ranked LATERAL VIEW posexplode(best) AS place, one
"""

_SALES = f"""
    SELECT o.order_id, c.click_id, o.product, o.cents, unix_seconds(o.at) - unix_seconds(c.at) AS seconds_later
    FROM clean_orders o JOIN clean_clicks c
      ON o.visitor = c.visitor AND o.product = c.product
     AND o.at BETWEEN c.at AND c.at + INTERVAL {JOIN_MINUTES} MINUTES
"""
