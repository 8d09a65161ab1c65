"""Who turns a client's loop: a thread of its own, or the asyncio loop of the program that it is part of."""
