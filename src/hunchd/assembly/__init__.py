"""Assembly of a bundle within the token budget, without I/O.

The engine passes in everything that is needed.
"""
