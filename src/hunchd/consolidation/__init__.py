"""Planning of changes to memories: merge, summarise, link, retire and forget.

These are pure functions, which write nothing themselves.
"""
