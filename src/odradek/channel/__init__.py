"""The one way out of this process to a broker: connections, requests and their answers, and what a client knows of the
cluster. Clients, raft and brokers that talk to each other all use it.
"""
