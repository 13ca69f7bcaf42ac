"""Detection of memories that say the same, without I/O.

The modules find memories with similar texts, normalise the texts and compare them.
"""
