"""Assembly of a bundle within the token budget. Pure.

The engine passes in all it needs.
"""
