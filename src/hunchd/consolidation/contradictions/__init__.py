"""Detection of memories that contradict each other, without I/O.

Pairs of memories are found, parsed, compared and classified.
"""
