"""Kafka's own scripts, `bin/kafka-topics.sh` and the others: its flags, its columns, its exit statuses, without a JVM.

One module for each script, named after it; docs/scripts.md lists them, and what each leaves out.
"""
