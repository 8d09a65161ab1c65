"""What a client's scenario has left in the broker's data dir.

A client that reads its own records back does not show how they were written: it may have sent them uncompressed, or
without a producer id. The batches do. Topics are named CLIENT.SCENARIO.NUMBER.
"""

from odradek.records.batch import batches

NAMES = {"confluent-kafka": "confluent", "@platformatic/kafka": "platformatic"}


def check(data, client, scenario):
    kind, _, codec = scenario.partition("-")
    if kind == "codec":
        found = {batch.codec_name for batch in _written(data, client, scenario)}
        assert codec in found, f"{client} has written {found}"
        # A batch that compression would make larger goes out as it is.
        assert found <= {codec, "none"}
    elif scenario == "idempotent":
        found = [(batch.producer_id >= 0, batch.base_sequence) for batch in _written(data, client, scenario)]
        assert found and all(has_id and sequence >= 0 for has_id, sequence in found), found
        assert found[0][1] == 0


def _written(data, client, scenario):
    topics = f"{NAMES.get(client, client)}.{scenario}.*"
    files = sorted(data.glob(f"{topics}/*.log"))
    return [batch for file in files for batch in batches(file.read_bytes())]
