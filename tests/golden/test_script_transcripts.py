"""Kafka's scripts against the transcripts of Kafka's own: the same commands, told to one of our brokers.

The transcripts were recorded by tests/interop/script_recorder.py, which says with what. docs/scripts.md says what is
otherwise on purpose.
"""

import contextlib
import io
import sys

import pytest

from odradek.cli.kafka.scripts import SCRIPTS
from odradek.client.admin.admin_client import AdminClient
from script_story import PROPERTIES, TRANSCRIPTS, Command, Story, Telling, tool_of
from started import broker

STORIES = sorted(path.stem for path in TRANSCRIPTS.glob("*.txt"))


def run(script, arguments, words):
    """A script in this process, as its own `main`."""
    out, err = io.StringIO(), io.StringIO()
    standard_input, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(words.encode()))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = tool_of(script)(arguments)
    finally:
        sys.stdin = standard_input
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", STORIES)
def test_scripts_print_what_kafkas_own_print(name, tmp_path):
    story = Story(TRANSCRIPTS / f"{name}.txt")
    otherwise = []
    with contextlib.ExitStack() as stack:
        host, port = stack.enter_context(broker(name.rpartition("-")[2], PROPERTIES))
        bootstrap = f"{host}:{port}"
        admin = stack.enter_context(AdminClient(bootstrap_servers=bootstrap))
        telling = stack.enter_context(contextlib.closing(Telling(bootstrap, admin, tmp_path, run)))
        for each in story.lines:
            told = telling.do(each)
            if isinstance(each, Command):
                otherwise += each.differences(*told)
    assert not otherwise, "\n".join(otherwise)


def test_every_script_has_a_transcript_and_a_file():
    told = {command.words[0] for name in STORIES for command in Story(TRANSCRIPTS / f"{name}.txt").commands}
    assert told <= set(SCRIPTS)
