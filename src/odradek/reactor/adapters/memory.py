"""The memory of this process: how much is resident, and how what is free goes back to the system."""

import os

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def give_back() -> None:
    """What the C library keeps of memory that was freed. It may take milliseconds: a job, and the GIL is let go of."""
    import ctypes  # seldom needed, and not for free

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's own
    if trim is not None:
        trim(0)
