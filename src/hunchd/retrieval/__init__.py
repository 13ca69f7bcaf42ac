"""Ranking of search hits with reasons.

Nothing is returned if nothing is relevant.
"""
