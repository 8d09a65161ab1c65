"""Small mistakes put into a copy of the source, one at a time, to see which of them no test notices.

| file | what |
|---|---|
| `mutations.py` | which mistakes can be made in a file |
| `recording.py` | a plugin of pytest: which test runs which line |
| `importers.py` | which source file imports which |
| `covering.py` | the tests that run the line of a mutation, recorded once and kept on disk |
| `workspace.py` | the copy of the checkout that is changed |
| `first_failure.py` | a plugin of pytest: which test has failed |
| `trial.py` | the tests of one mutation, with a deadline |
"""
