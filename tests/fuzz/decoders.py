"""One coverage-guided fuzz target over every decoder: `make fuzz`, or a minute of it in `make test`.

The first byte picks the decoder, the next two its parameters, the rest is what a hostile peer sent. The invariant, for
each: the outcome is a value or the decoder's own error, never another exception, a hang or memory beyond its bound; and
where there are two executors, both come to the same outcome.
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import atheris

with redirect_stderr(StringIO()), atheris.instrument_imports(include=["odradek"]):  # it names every module
    from odradek import native
    from odradek.config import properties
    from odradek.config.errors import ConfigError
    from odradek.protocol import codec, errors, frames, registry, uuids
    from odradek.records import check, columns, compression, convert, pure_walk
    from odradek.records.batch import batches
    from odradek.records.rules import ProduceRules

DATA = Path(__file__).resolve().parents[1] / "golden" / "data"
LIMIT_BYTES = 1 << 20
RULES = ProduceRules("fuzz-0", decompressed_bytes_max=LIMIT_BYTES, is_compacted=True)
MESSAGES = list(registry.every_message().values())
PEER_FAULTS = (errors.PeerProtocolError, errors.KafkaError)

try:
    compiled_codec: Any = native.load_compiled("odradek.protocol._codec")
    compiled_walk: Any = native.load_compiled("odradek.records._kernel")
except ImportError:
    compiled_codec, compiled_walk = codec, pure_walk


def outcome(decode: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "value", decode()
    except PEER_FAULTS as error:
        return type(error).__name__, str(error)


def message(selector: int, data: bytes) -> None:
    cls = MESSAGES[selector % len(MESSAGES)]
    version = cls.versions[(selector // len(MESSAGES)) % len(cls.versions)]
    plan = cls.plan(version)
    pure = outcome(lambda: codec.decode(plan, data, 0))
    compiled = outcome(lambda: compiled_codec.decode(plan, data, 0))
    assert repr(pure) == repr(compiled), (cls.__name__, version, pure, compiled)  # repr: nan is not equal to itself
    if pure[0] == "value":
        try:
            written = b"".join(codec.encode(plan, pure[1][0]))
        except errors.EncodeError as error:
            assert "twice" in str(error), error  # a tag that came twice can be read, not written
        else:
            again, end = codec.decode(plan, written, 0)
            assert end == len(written) and b"".join(codec.encode(plan, again)) == written


def internal_record(selector: int, data: bytes) -> None:
    topics = (frames.OFFSETS, frames.TRANSACTIONS, frames.SHARE_STATE)
    if selector % 5 < 3:
        topic = topics[selector % 5]
        _, key = outcome(lambda: topic.decode_key(data))
        if key is not None and not isinstance(key, str):
            outcome(lambda: topic.decode_value(key, data))
    else:
        outcome(lambda: (frames.METADATA, frames.REMOTE_LOG)[selector % 5 - 3].decode(data))


def record_batches(selector: int, data: bytes) -> None:
    outcome(lambda: [list(batch.records(LIMIT_BYTES)) for batch in batches(data)])
    outcome(lambda: check.check_request(data, selector % 14))
    outcome(lambda: check.check(data, RULES, now_ms=1_700_000_000_000))
    outcome(lambda: convert.down_convert(data, selector % 2, 0, LIMIT_BYTES))


def scan(selector: int, data: bytes) -> None:
    found = outcome(lambda: columns.scan(data, limit_bytes=LIMIT_BYTES, check_crc=bool(selector & 1)))
    if found[0] == "value":
        found[1].keys(), found[1].values(), found[1].headers(), found[1].offsets(), found[1].timestamps()


def record_section(selector: int, data: bytes) -> None:
    facts = ("offsets_consecutive", "keyless_index", "null_value_count", "max_timestamp_index", "last_offset_delta")
    results = []
    for walk in (pure_walk, compiled_walk):
        kind, found = outcome(lambda walk=walk: walk.check_records(data, selector % 64))
        results.append((kind, [getattr(found, fact) for fact in facts] if kind == "value" else found))
    assert results[0] == results[1], results


def decompress(selector: int, data: bytes) -> None:
    kind, found = outcome(
        lambda: compression.decompress(selector % 5, data, limit_bytes=LIMIT_BYTES, magic=selector // 5 % 3)
    )
    if kind == "value" and selector % 5:
        assert len(found) <= LIMIT_BYTES


def properties_file(selector: int, data: bytes) -> None:
    try:
        loaded = properties.load(data, "fuzz.properties")
    except ConfigError:
        return
    assert properties.load(properties.dump(loaded), "again") == loaded


def identifier(selector: int, data: bytes) -> None:
    text = data.decode("latin-1")
    with suppress(ValueError):
        assert uuids.format_uuid(uuids.parse_uuid(text)) == text


TARGETS = (*(message, internal_record, record_batches, scan, record_section, decompress, properties_file, identifier),)


def one_input(data: bytes) -> None:
    if len(data) >= 3:
        TARGETS[data[0] % len(TARGETS)](int.from_bytes(data[1:3], "big"), data[3:])


def seeds() -> dict[str, bytes]:
    """Real bytes to start from: a vector of every message, and golden record batches."""
    found: dict[str, bytes] = {}
    names = {cls.__name__: index for index, cls in enumerate(MESSAGES)}
    for vector in lines("messages-4.3.0.jsonl.gz"):
        if vector["variant"] in ("full", "unknown_tags") and vector["name"] in names:
            index = names[vector["name"]]
            selector = index + len(MESSAGES) * (vector["version"] - MESSAGES[index].versions[0])
            if selector < 1 << 16:
                head = b"\x00" + selector.to_bytes(2, "big")
                found[f"{vector['name']}-{vector['variant']}"] = head + bytes.fromhex(vector["hex"])
    for case in lines("records-batches-4.3.0.jsonl.gz"):
        for target in (TARGETS.index(record_batches), TARGETS.index(scan)):
            found[f"{case['case']}-{target}"] = bytes((target, 0, 1)) + bytes.fromhex(case["hex"])
    return found


def lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / name, "rt") as file:
        yield from map(json.loads, file)


def main() -> None:
    corpus = Path(next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "fuzz-corpus"))
    corpus.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        for name, data in seeds().items():
            (corpus / name).write_bytes(data)
    print(f"fuzzing {len(MESSAGES)} messages and {len(TARGETS) - 1} other decoders", flush=True)
    atheris.Setup([*sys.argv, "-timeout=20", "-rss_limit_mb=4096", "-max_len=65536", "-verbosity=0"], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
