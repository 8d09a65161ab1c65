"""Other people's client APIs on Odradek's clients: switching is one import line."""
