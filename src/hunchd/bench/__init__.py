"""Benchmarks that replay real histories without revealing the future.

A history is replayed unit by unit. A unit of work, or unit, is a commit, or a merge with everything it brings in.
"""
