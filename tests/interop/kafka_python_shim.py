"""A plugin for pytest that puts `odradek.compat.kafka_python` in front of kafka-python: for its own tests."""

import kafka
import kafka.errors
import kafka.structs

from odradek.compat import kafka_python

for _name in ("KafkaConsumer", "KafkaProducer"):
    setattr(kafka, _name, getattr(kafka_python, _name))
for _name in ("KafkaTimeoutError", "UnsupportedCodecError"):
    setattr(kafka.errors, _name, getattr(kafka_python.errors, _name))
kafka.structs.MemberState = kafka_python.MemberState
