"""The client side: cores without I/O, which the full clients and the simulated ones run alike."""
