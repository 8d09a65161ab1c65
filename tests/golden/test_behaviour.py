"""The error codes of a real 3.3.2 and 4.3.0, case by case, from a broker of ours of that release."""

import pytest

from behaviour_kit import EXCEPTIONS, PROPERTIES, SKIPPED, cases, create_topics
from started import broker
from wire_replay import SocketTarget


@pytest.mark.parametrize(("release", "at_least"), [("4.3", 170), ("3.3", 165)])
def test_the_codes_of_a_release(release, at_least):
    wrong = []
    with broker(release, PROPERTIES) as address:
        target = SocketTarget(*address)
        create_topics(target.ask, release)
        played = list(cases(release))
        for case in played:
            answers = case.run(target.ask)
            if answers != case.expected:
                wrong.append(f"{case.name}\n  expected {case.expected}\n  answered {answers}")
        target.close()
    assert len(played) >= at_least
    assert not wrong, "\n".join(wrong)


def test_every_exception_has_a_reason():
    assert all(SKIPPED.values())
    assert all(reason for _, reason in EXCEPTIONS.values())
