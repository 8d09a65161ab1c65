"""The two checksums of record data: CRC32C from magic 2 on, CRC32 before.

Importing the `crc32c` package costs 55 ms, nearly all of it to look up its own version number; its extension
module alone costs a third of one. The whole broker has 60 ms to import, so the extension is loaded past the
package, and the package is the fallback for a build that is laid out in another way.
"""

import zlib
from collections.abc import Callable
from importlib.machinery import PathFinder

from odradek.records.varint import Buffer

Checksum = Callable[[Buffer], int]


def _load_crc32c() -> Checksum:
    package = PathFinder.find_spec("crc32c")
    locations = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec("_crc32c", locations) if locations else None
    module = spec.loader.create_module(spec) if spec and spec.loader else None
    if spec is None or spec.loader is None or module is None:
        from crc32c import crc32c as packaged

        return packaged
    spec.loader.exec_module(module)
    checksum: Checksum = module.crc32c
    return checksum


crc32c: Checksum = _load_crc32c()


def crc32(data: Buffer) -> int:
    return zlib.crc32(data)
