"""Kafka's socket server, part by part: acceptors, processors, request channels, connection quotas.

The roles are Kafka's, as objects that the reactor serves in turn; there are no threads. The way in is
`socket_server.py`.
"""
