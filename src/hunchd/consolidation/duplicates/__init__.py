"""Detection of memories that say the same, without I/O.

Memories are found, normalised and compared.
"""
