"""Batches in a file of them: found by offset, cut out in pieces, checked."""
