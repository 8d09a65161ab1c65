"""Kafka's protocol as data: declarations, a plan per message and version, two executors, and the tables."""
