"""Detection of memories that say the same.

Finds, normalises and compares them. No I/O. No I/O.
"""
