"""The offline tools on log dirs: dump, check and repair. They share no code with what writes the files.

A tool that used the writers' code would repeat their mistakes, and call a damaged file sound. So nothing here imports
`odradek.log`, nor what stands above it: file names, indexes, checkpoints, snapshots, leader epochs and what a crash may
leave are read and judged by code of their own. What is shared is below:

| shared | why |
|---|---|
| `reactor.ports` | the disk, so that a test can damage a simulated one |
| `protocol` | messages, errors and ids are tables; the golden bytes of Kafka hold them |
| `records.layout`, `batch`, `legacy`, `record`, `control`, `crc`, `columns` | the form of a batch, and reading it |

What a broker uses to judge and to make batches (`records.check`, `assign`, `convert`, `build`, `writer`, their parts)
is not shared. `pyproject.toml` has both rules, `lint-imports` keeps them.
"""
