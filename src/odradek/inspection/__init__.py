"""The offline tools on log dirs: dump, check and repair. They share no code with what writes the files."""
