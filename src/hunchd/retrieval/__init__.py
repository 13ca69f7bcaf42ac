"""Ranking of search hits, with reasons.

Irrelevant hits are left out, so the result may be empty.
"""
