"""Lines of the server log while a server starts: held, then written or forgotten."""

from odradek.cli.start_log import LINES_MAX, StartLog


def started():
    written = []
    return StartLog(lambda *line: written.append(line)), written


def test_errors_wait_for_the_end_of_the_start():
    log, written = started()
    log.write(1, "ERROR", "a dir cannot be used", "kafka.server.KafkaRaftServer")
    log.write(2, "INFO", "what a terminal is not shown", "kafka.server.KafkaRaftServer")
    assert written == []
    log.let_go()
    assert written == [(1, "ERROR", "a dir cannot be used", "kafka.server.KafkaRaftServer")]


def test_from_then_on_every_line_is_written_at_once_and_once():
    log, written = started()
    log.let_go()
    for level in ("INFO", "FATAL"):
        log.write(3, level, "later", "x")
    log.let_go()
    assert written == [(3, "INFO", "later", "x"), (3, "FATAL", "later", "x")]


def test_they_have_a_limit():
    log, written = started()
    for number in range(LINES_MAX + 5):
        log.write(number, "ERROR", "again", "x")
    log.let_go()
    assert len(written) == LINES_MAX and written[-1][0] == LINES_MAX + 4
