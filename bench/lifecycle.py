"""Start, memory, and the way back after a kill -9 with 1 GB in one partition."""

from bench.contenders import Contender
from bench.scoreboard import Scoreboard
from bench.workloads import Bench, Storm, touched_memory

LIFECYCLE = "lifecycle"
GIGABYTE = Storm(connections=1, depth=8, records=970, value_bytes=1000)
GIGABYTE_REQUESTS = 1100


def measure_lifecycle(bench: Bench, contenders: list[Contender], board: Scoreboard) -> None:
    """After everything else: what a broker occupies then is what load leaves behind."""
    for contender in contenders:
        board.note_memory(contender)
        contender.stop()
    for contender in contenders:
        print(f" lifecycle {contender.name}: 1 GB, kill -9, start", flush=True)
        contender.start()
        with touched_memory(True), bench.topic(contender, 1) as topic:
            bench.storm(contender, topic, GIGABYTE, 120, requests_max=GIGABYTE_REQUESTS)
            contender.stop(is_clean=False)
            board.note_recovery(contender, contender.start(readable=topic))
        contender.stop()
