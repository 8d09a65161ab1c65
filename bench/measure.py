"""How every figure here is taken: CPU time, the contenders in turn, the best of several rounds."""

import gc
import time
from collections.abc import Callable

Work = Callable[[], object]


def best_seconds(contenders: dict[str, Work], *, rounds: int = 7, seconds_per_round: float = 0.05) -> dict[str, float]:
    """CPU seconds per call of each, alternating so that a noisy moment hits all of them alike."""
    calls = {name: _calls_for(work, seconds_per_round) for name, work in contenders.items()}
    best = dict.fromkeys(contenders, float("inf"))
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, work in contenders.items():
                best[name] = min(best[name], _time(work, calls[name]) / calls[name])
    finally:
        gc.enable()
    return best


def _calls_for(work: Work, seconds: float) -> int:
    calls = 1
    while (taken := _time(work, calls)) < seconds / 4:
        calls *= 4
    return max(1, int(calls * seconds / taken))


def _time(work: Work, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        work()
    return time.process_time() - started


def geometric_mean(values: list[float]) -> float:
    product = 1.0
    for value in values:
        product *= value
    return float(product ** (1 / len(values)))
