"""Detection of memories that contradict each other, without I/O.

The modules find pairs of memories, extract the statement of each, compare the two and decide whether they contradict
each other.
"""
