"""Assembly of a context bundle within a token budget, without I/O.

The engine passes in everything that the functions need.
"""
