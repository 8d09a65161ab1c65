"""The simulator: the ports in one thread, under simulated time, driven by one seed.

    world = World(seed=7)
    node = world.node("broker-1")
    loop = node.boot()
    loop.spawn(serve(loop))
    world.run_for(10_000)

The same seed gives the same `world.trace.digest()`, whatever PYTHONHASHSEED.
"""
