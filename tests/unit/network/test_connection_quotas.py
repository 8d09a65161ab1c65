import gc
import sys

import pytest

from odradek.config.errors import ConfigError
from odradek.network.config import ListenerConfig, NetworkConfig, per_ip_overrides
from odradek.network.connection_quotas import (
    ConnectionQuotas,
    ConnectionRate,
    ConnectionThrottled,
    TooManyConnections,
)


class Clock:
    now = 1_000_000

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def quotas(clock):
    made = ConnectionQuotas(clock, "INTERNAL")
    for name in ("INTERNAL", "EXTERNAL"):
        made.add_listener(name)
    return made


def test_counts_go_up_and_down(quotas):
    quotas.add("EXTERNAL", "10.0.0.1")
    quotas.add("INTERNAL", "10.0.0.1")
    assert (quotas.total, quotas.count_of("EXTERNAL")) == (2, 1)
    quotas.remove("EXTERNAL", "10.0.0.1")
    quotas.remove("INTERNAL", "10.0.0.1")
    assert (quotas.total, quotas.count_of("EXTERNAL")) == (0, 0)
    assert quotas._by_address == {}


def test_a_refused_connection_was_not_counted(quotas):
    quotas.max_per_address = 1
    quotas.add("EXTERNAL", "10.0.0.1")
    with pytest.raises(TooManyConnections, match=r"10\.0\.0\.1"):
        quotas.add("EXTERNAL", "10.0.0.1")
    quotas.add("EXTERNAL", "10.0.0.2")
    assert quotas.total == 2


def test_only_the_listener_between_brokers_passes_the_limit_of_the_broker(quotas):
    quotas.max_connections = 1
    quotas.add("EXTERNAL", "10.0.0.1")
    assert not quotas.has_slot("EXTERNAL")
    assert quotas.has_slot("INTERNAL")
    quotas.add("INTERNAL", "10.0.0.2")
    assert quotas.exceeds_total()
    quotas.listener_max["INTERNAL"] = 1
    assert not quotas.has_slot("INTERNAL")


def test_the_only_listener_is_not_protected(clock):
    quotas = ConnectionQuotas(clock, "INTERNAL")
    quotas.add_listener("INTERNAL")
    quotas.max_connections = 0
    assert not quotas.has_slot("INTERNAL")


def test_a_rate_allows_bursts_but_not_for_long(clock):
    rate = ConnectionRate(10)
    assert all(rate.record(clock.now) == 0 for _ in range(100))  # ten seconds' worth
    throttled = rate.record(clock.now)
    assert throttled > 0
    clock.now += 20_000
    assert rate.record(clock.now) == 0


def test_a_steady_rate_within_the_limit_is_never_throttled(clock):
    rate = ConnectionRate(10)
    for _ in range(600):
        clock.now += 101
        assert rate.record(clock.now) == 0
    assert 9 <= rate.rate(clock.now) <= 11


def test_a_rate_is_enforced_in_the_long_run(clock):
    rate = ConnectionRate(10)
    started, accepted = clock.now, 0
    while clock.now < started + 120_000:
        accepted += 1
        clock.now += 1 + rate.record(clock.now)
    assert 900 <= accepted <= 1500


def test_nothing_may_come_at_a_rate_of_none(clock):
    rate = ConnectionRate(0)
    assert rate.record(clock.now) == 11_000


def test_the_protected_listener_is_not_slowed_by_the_others(quotas):
    quotas.rate.limit = 1
    for _ in range(50):
        quotas.record_rate("EXTERNAL")
    assert quotas.record_rate("EXTERNAL") > 0
    assert quotas.record_rate("INTERNAL") == 0


def test_addresses_that_came_long_ago_are_forgotten(quotas, clock):
    quotas.address_rate_limit = 5
    for number in range(5000):
        clock.now += 100
        quotas.add("EXTERNAL", f"address-{number}")
    assert len(quotas._rates_by_address) <= 2048


def test_one_address_may_have_its_own_rate(quotas):
    quotas.address_rate_overrides["10.0.0.9"] = 1
    for _ in range(10):
        quotas.add("EXTERNAL", "10.0.0.9")
    with pytest.raises(ConnectionThrottled) as caught:
        quotas.add("EXTERNAL", "10.0.0.9")
    assert caught.value.throttle_ms > 0
    quotas.add("EXTERNAL", "10.0.0.8")


def test_who_waits_for_a_slot_is_told_once(quotas):
    told = []
    quotas.add("EXTERNAL", "a")
    quotas.add("EXTERNAL", "a")
    quotas.when_slot(lambda: told.append(1))
    quotas.remove("EXTERNAL", "a")
    quotas.remove("EXTERNAL", "a")
    assert told == [1]


def test_overrides_by_address():
    assert per_ip_overrides("") == {}
    assert per_ip_overrides("10.0.0.1:5, localhost:7,[::1]:2") == {"10.0.0.1": 5, "127.0.0.1": 7, "::1": 2}
    for text in ("10.0.0.1", "10.0.0.1:", ":5", "10.0.0.1:-1", "a:b"):
        with pytest.raises(ConfigError, match=r"max\.connections\.per\.ip\.overrides"):
            per_ip_overrides(text)


def test_configs_of_one_listener():
    from network_kit import broker_config

    config = broker_config({"max.connections": "9", "listener.name.plaintext.max.connections": "4"})
    assert NetworkConfig.from_config(config).max_connections == 9
    assert ListenerConfig(config, "PLAINTEXT").max_connections == 4
    assert ListenerConfig(config, "CONTROLLER").max_connections == 2**31 - 1


def test_a_rate_keeps_as_much_as_it_tells_of():
    """Nobody asks for the rate of a listener without a limit: it was the one that kept every second of its life."""
    rate = ConnectionRate()
    sizes = set()
    for second in range(3600):
        rate.record(1_000_000 + 1000 * second)
        sizes.add(sum(map(sys.getsizeof, gc.get_referents(rate))))
    assert len(sizes) == 1
    assert rate.rate(1_000_000 + 3599 * 1000) == pytest.approx(1.1)
    assert rate.rate(1_000_000 + 3604 * 1000) == pytest.approx(0.6)
    assert rate.rate(1_000_000 + 3610 * 1000) == 0.0
