"""The hot loops of compaction: compiled where the extension is there, else their pure-Python twins.

    KeyMap           the last offset of each key of the dirty section
    index_keys       a run of plain batches into a KeyMap
    filter_batches   what compaction leaves of a run of plain batches
    SparseIndexes    the index entries of what was left

The twins are the specification. Type checkers see them; what serves is decided here, once.
"""

from odradek import native
from odradek.log.cleaner.key_map import KeyMap
from odradek.log.cleaner.pure_cleaner import SparseIndexes, filter_batches, index_keys

__all__ = ["KeyMap", "SparseIndexes", "filter_batches", "index_keys"]

_extension = native.load("odradek.log.cleaner._cleaner")
if _extension is not None:
    globals().update({name: getattr(_extension, name) for name in __all__})
