"""What a property test draws must not depend on what else is loaded: it would be red in one order of tests only."""

import importlib

from examples import forget_constants_of_loaded_modules
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers


def drawn():
    found = []

    @settings(derandomize=True, database=None, max_examples=300)
    @given(st.integers(), st.text())
    def draw(number, text):
        found.append((number, text))

    draw()
    return found


def test_examples_do_not_depend_on_the_modules_that_are_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(providers, "_get_local_constants", providers._get_local_constants)  # as it was, afterwards
    forget_constants_of_loaded_modules()
    before = drawn()
    constants = [f"NUMBER_{each}, WORD_{each} = {each * 7919}, 'word {each}'" for each in range(100, 400)]
    (tmp_path / "full_of_constants.py").write_text("\n".join(constants))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("full_of_constants")
    assert drawn() == before
