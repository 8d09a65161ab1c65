"""How keys and values become bytes and bytes become values.

    from odradek.serde import JSON, STRING
    KafkaProducer(key_serializer=STRING, value_serializer=JSON)
    KafkaConsumer("orders", key_deserializer=STRING, value_deserializer=JSON)

Each object works in both directions. Those with schemas (`AvroSerde`, `ProtobufSerde`, `JsonSchemaSerde`) keep them in
a `SchemaRegistry` and need an extra of the package each; what is not used is not imported.
"""

__all__ = [
    "BOOLEAN",
    "BYTES",
    "DOUBLE",
    "FLOAT",
    "INT",
    "JSON",
    "LONG",
    "SHORT",
    "STRING",
    "UUID",
    "AvroSerde",
    "Json",
    "JsonSchemaSerde",
    "ProtobufSerde",
    "RegistryError",
    "Schema",
    "SchemaRegistry",
    "SerializationError",
    "String",
    "record_name",
    "topic_name",
    "topic_record_name",
]

TYPE_CHECKING = False  # as type checkers know it

if TYPE_CHECKING:
    from odradek.serde.avro import AvroSerde
    from odradek.serde.errors import SerializationError
    from odradek.serde.json_format import Json
    from odradek.serde.json_schema import JsonSchemaSerde
    from odradek.serde.plain import Boolean, Bytes, Double, Float, Int, Long, Short, String, Uuid
    from odradek.serde.protobuf import ProtobufSerde
    from odradek.serde.registry import RegistryError, SchemaRegistry
    from odradek.serde.schema import Schema
    from odradek.serde.subjects import record_name, topic_name, topic_record_name

    BOOLEAN = Boolean()
    BYTES = Bytes()
    DOUBLE = Double()
    FLOAT = Float()
    INT = Int()
    JSON = Json()
    LONG = Long()
    SHORT = Short()
    STRING = String()
    UUID = Uuid()
else:
    _MODULES = {
        "AvroSerde": "avro",
        "Json": "json_format",
        "JsonSchemaSerde": "json_schema",
        "ProtobufSerde": "protobuf",
        "RegistryError": "registry",
        "Schema": "schema",
        "SchemaRegistry": "registry",
        "SerializationError": "errors",
        "String": "plain",
        "record_name": "subjects",
        "topic_name": "subjects",
        "topic_record_name": "subjects",
    }

    def __getattr__(name):
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _MODULES:
            value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        else:  # a constant is an object of the class of that name
            module = "json_format" if name == "JSON" else "plain"
            value = getattr(import_module(f"{__name__}.{module}"), name.capitalize())()
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
