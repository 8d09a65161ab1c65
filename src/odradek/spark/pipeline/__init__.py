"""Pipelines that a person declares: sources, steps and sinks, run by plain Structured Streaming.

    file or program --front end--> Given --declaring--> Declaration --checking--> running --> one query per sink

A front end (`yaml_file.py`, `sql_file.py`, `python_api.py`) only reads: it gives values with the line that each stands
on. `declaring.py` makes the one model (`model.py`) of them, and `checking.py` looks at the whole. All mistakes are
gathered, so that a person sees them at once. None of that imports pyspark; `running.py` and what it uses does.
"""
