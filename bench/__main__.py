"""`python -m bench`: every figure of the README, one after the other."""

import sys

from bench import codec, imports, records


def main() -> int:
    for title, part in (("message codec", codec), ("record batches", records), ("imports", imports)):
        print(f"== {title}", flush=True)
        part.main()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
