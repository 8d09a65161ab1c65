"""The share consumer (KIP-932): records of a topic are dealt out one by one to the members of a share group, each of
which says what became of every record.

| | |
|---|---|
| `acknowledgement.py` | what is said of records, and how that stands in a request |
| `deliveries.py` | the records that the program has: acknowledged or not, being renewed (a core) |
| `share_chunk.py`, `share_buffer.py` | what was fetched, until the program takes it |
| `share_fetch_session.py`, `share_fetcher.py` | the session with each broker, and what it is asked (cores) |
| `share_membership.py` | the member of a share group (a core) |
| `share_session.py` | all of it at work in the client's loop |
| `share_calls.py` | the side of the program, for threads and asyncio |
| `share_consumer.py`, `asyncio_share_consumer.py` | the two front ends |
"""
