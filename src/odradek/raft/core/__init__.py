"""The quorum's protocol without I/O: told what happens, it answers with what is to be done."""
