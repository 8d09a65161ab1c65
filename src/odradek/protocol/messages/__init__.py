"""The declarations: one file per API, numbered by its key, and one per kind of internal record.

They follow Kafka's field tables, one line per field in wire order, each with the versions that carry it. Where releases
disagree under one version number, 4.3 wins; `odradek.protocol.exceptions` lists those places.
"""
