"""Counting, rates and distributions, and what Prometheus reads of them."""

import re

import pytest

from odradek.broken_rule import BrokenRuleError
from odradek.metrics import Histogram, Meter, Registry
from odradek.metrics.text import prometheus_text


class Hand:
    """A clock that is set by hand."""

    def __init__(self):
        self.ms = 0

    def __call__(self):
        return self.ms


@pytest.fixture
def clock():
    return Hand()


@pytest.fixture
def registry(clock):
    return Registry(clock)


def lines(registry):
    return prometheus_text(registry).decode().splitlines()


def test_a_meter_counts_and_tells_its_mean_rate():
    meter = Meter(0)
    meter.count += 30
    meter.mark(30)
    assert meter.count == 60
    assert meter.rates(2000).mean == 30


def test_a_minute_after_a_burst_the_one_minute_rate_has_fallen_most():
    meter = Meter(0)
    meter.mark(1000)
    meter.rates(1000)
    rates = meter.rates(61_000)
    assert rates.one_minute == pytest.approx(1000 * 0.3679, rel=0.01)
    assert rates.one_minute < rates.five_minutes < rates.fifteen_minutes < 1000


def test_how_often_one_looks_does_not_change_a_rate():
    seldom, often = Meter(0), Meter(0)
    for meter in (seldom, often):
        meter.mark(500)
        meter.rates(1000)
    for second in range(2, 62):
        seldom.mark(10)
        often.mark(10)
        often.rates(second * 1000)
        often.rates(second * 1000)
    for name in ("mean", "one_minute", "five_minutes", "fifteen_minutes"):
        assert getattr(often.rates(61_000), name) == pytest.approx(getattr(seldom.rates(61_000), name))


def test_a_histogram_of_nothing_is_all_zero():
    assert Histogram().quantiles(0) == [0.0] * 6
    assert Histogram().mean == 0


@pytest.mark.parametrize("factor", [1, 37, 10_000, 10**9])
def test_quantiles_are_within_a_thirtieth(factor):
    histogram = Histogram()
    for value in range(1000):
        histogram.record(value * factor)
    wanted = [500, 750, 950, 980, 990, 999]
    assert histogram.quantiles(0) == pytest.approx([value * factor for value in wanted], rel=0.033)
    assert (histogram.minimum, histogram.maximum, histogram.count) == (0, 999 * factor, 1000)
    assert histogram.mean == 499.5 * factor
    assert histogram.deviation() == pytest.approx(288.8 * factor, rel=0.05)


def test_small_values_are_exact():
    histogram = Histogram()
    for value in (1, 1, 1, 31):
        histogram.record(value)
    assert histogram.quantiles(0)[:2] == [1, 1]
    assert histogram.quantiles(0)[5] == 31


def test_quantiles_forget_what_is_ten_minutes_old():
    histogram = Histogram(0)
    histogram.record(5000)
    histogram.quantiles(300_000)
    for _ in range(10):
        histogram.record(1)
    assert histogram.quantiles(400_000)[5] == pytest.approx(5000, rel=0.033)
    histogram.quantiles(600_000)
    assert histogram.quantiles(600_001)[5] == 1
    assert histogram.maximum == 5000


def test_the_same_name_is_the_same_metric(registry):
    first = registry.meter("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": "a"})
    assert registry.meter("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": "a"}) is first
    assert registry.meter("kafka.server", "BrokerTopicMetrics", "BytesInPerSec") is not first
    with pytest.raises(BrokenRuleError):
        registry.histogram("kafka.server", "BrokerTopicMetrics", "BytesInPerSec")


def test_text_of_a_meter(registry, clock):
    registry.meter("kafka.server", "BrokerTopicMetrics", "MessagesInPerSec", {"topic": "t"}).mark(5)
    clock.ms = 1000
    text = lines(registry)
    assert "# TYPE kafka_server_brokertopicmetrics_messagesinpersec_count counter" in text
    assert 'kafka_server_brokertopicmetrics_messagesinpersec_count{topic="t"} 5' in text
    assert 'kafka_server_brokertopicmetrics_messagesinpersec_oneminuterate{topic="t"} 5' in text


def test_text_of_a_histogram_a_counter_and_gauges(registry):
    registry.histogram("kafka.network", "RequestMetrics", "TotalTimeMs", {"request": "Produce"}).record(7)
    registry.counter("kafka.server", "X", "Y").count += 2
    registry.gauge("kafka.server", "KafkaServer", "BrokerState", lambda: 3)
    registry.gauge("kafka.server", "KafkaServer", "Unknown", lambda: None)
    registry.attribute("kafka.server", "socket-server-metrics", "connection-count", lambda: 1.5, {"listener": "A"})
    text = lines(registry)
    assert 'kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.999"} 7' in text
    assert 'kafka_network_requestmetrics_totaltimems_count{request="Produce"} 1' in text
    assert "kafka_server_x_y_count 2" in text
    assert "kafka_server_kafkaserver_brokerstate 3" in text
    assert 'kafka_server_socket_server_metrics_connection_count{listener="A"} 1.5' in text
    assert not any("unknown" in line for line in text)


def test_a_label_cannot_break_out_of_its_quotes(registry):
    registry.gauge("g", "t", "n", lambda: 1, {"client-id": 'a"} 1\nevil 2\\'})
    assert lines(registry)[1:] == ["# TYPE g_t_n gauge", 'g_t_n{client_id="a\\"} 1\\nevil 2\\\\"} 1']


def test_every_family_says_what_it_tells(registry):
    registry.meter("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": "t"})
    registry.attribute("kafka.server", "raft-metrics", "current-epoch", lambda: 7)
    registry.gauge("kafka.server", "New", "Thing", lambda: 1)
    told = [line.removeprefix("# HELP ") for line in lines(registry) if line.startswith("# HELP ")]
    bean = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"
    family = "kafka_server_brokertopicmetrics_bytesinpersec_count"
    assert f"{family} Bytes that producers have written: how many so far - {bean} Count" in told
    assert (
        "kafka_server_raft_metrics_current_epoch Epoch of the metadata quorum - kafka.server:type=raft-metrics "
        "current-epoch" in told
    )
    assert "kafka_server_new_thing Kafka's kafka.server:type=New,name=Thing Value" in told


def test_a_help_line_stays_one_line(registry):
    registry.gauge("g", "t", "n\nevil 2\\", lambda: 1)
    assert lines(registry)[0] == "# HELP g_t_n_evil_2_ Kafka's g:type=t,name=n\\nevil 2\\\\ Value"


def test_families_stand_together_and_every_line_parses(registry):
    for topic in ("a", "b"):
        registry.meter("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": topic})
        registry.histogram("kafka.server", "H", "h", {"topic": topic})
    text = lines(registry)
    kinds = [line for line in text if line.startswith("#")]
    assert len(kinds) == len(set(kinds))
    assert [line.split()[1] for line in kinds] == ["HELP", "TYPE"] * (len(kinds) // 2)
    sample = re.compile(r'[a-z_:][a-z0-9_]*(\{[a-zA-Z_]+="[^"]*"(,[a-zA-Z_]+="[^"]*")*\})? -?[0-9.e+-]+')
    assert all(sample.fullmatch(line) for line in text if not line.startswith("#"))


def test_a_deleted_topic_takes_its_metrics_along(registry):
    for topic in ("a", "b"):
        registry.meter("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": topic})
    registry.remove_tagged(topic="a")
    registry.remove("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": "nobody"})
    assert [name.tags for name, _ in registry] == [(("topic", "b"),)]


def test_what_is_collected_is_there_only_while_somebody_looks(registry):
    sizes = {"a": 1, "b": 2}
    registry.collect(lambda: [("kafka.log", "Log", "Size", {"topic": topic}, size) for topic, size in sizes.items()])
    assert lines(registry)[2:] == ['kafka_log_log_size{topic="a"} 1', 'kafka_log_log_size{topic="b"} 2']
    del sizes["a"]
    assert lines(registry)[2:] == ['kafka_log_log_size{topic="b"} 2']
    assert len(registry) == 0


def test_a_thousand_topics_go_one_by_one_and_nothing_is_left_of_them(registry):
    for number in range(1000):
        for name in ("BytesInPerSec", "BytesOutPerSec"):
            registry.meter("kafka.server", "BrokerTopicMetrics", name, {"topic": f"t{number}"})
    registry.remove("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", {"topic": "t7"})
    for number in range(1000):
        registry.remove_tagged(topic=f"t{number}")
    registry.remove_tagged(topic="t7")
    assert len(registry) == 0
    assert not registry._by_tag
