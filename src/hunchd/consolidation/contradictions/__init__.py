"""Detection of memories that contradict each other.

Finds, parses, compares and classifies pairs. No I/O.
"""
