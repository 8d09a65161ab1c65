"""`executor` runs a test twice: on the compiled kernel and on its pure-Python twins."""

import pytest

from odradek import native
from odradek.records import kernel, pure_encode, pure_gather, pure_walk

PURE = {
    "odradek.records._kernel": pure_walk,
    "odradek.records._gather": pure_gather,
    "odradek.records._encode": pure_encode,
}


@pytest.fixture(params=["compiled", "pure"])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for module, names in kernel.COMPILED.items():
        implementation = PURE[module] if request.param == "pure" else native.load_compiled(module)
        if implementation is None:
            pytest.skip(f"the compiled kernel is missing: {native.why_pure()}")
        for name in names:
            monkeypatch.setattr(kernel, name, getattr(implementation, name))
    return str(request.param)
