"""What a share consumer counts, under the names of Kafka's share consumer metrics."""

from odradek.client.consumer.consumer_metrics import MetricsBase
from odradek.client.share_consumer.share_fetcher import ShareFetcher
from odradek.client.share_consumer.share_membership import ShareMembership

CONSUMER = "consumer-share-metrics"
FETCH = "consumer-share-fetch-manager-metrics"
COORDINATOR = "consumer-share-coordinator-metrics"


class ShareConsumerMetrics(MetricsBase):
    """Read when they are asked for."""

    def of_fetching(self, fetcher: ShareFetcher) -> None:
        counts = self.counts
        self._add_total(FETCH, "records-consumed", lambda: counts.records)
        self._add_total(FETCH, "bytes-consumed", lambda: counts.bytes)
        self._add_total(FETCH, "fetch", lambda: fetcher.fetches)
        self._add_total(FETCH, "acknowledgements-send", lambda: fetcher.acknowledgements_sent)
        self._add_total(FETCH, "acknowledgements-error", lambda: fetcher.acknowledgements_failed)
        self._add(CONSUMER, "polls-total", lambda: counts.polls)

    def of_group(self, membership: ShareMembership) -> None:
        self._add_total(COORDINATOR, "heartbeat", lambda: membership.heartbeats)
        self._add_total(COORDINATOR, "rebalance", lambda: membership.rebalances)
        self._add(COORDINATOR, "assigned-partitions", lambda: len(membership.assigned))
