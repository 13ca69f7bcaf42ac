"""Stored memories: fact resolution, journal records, the writer to the store, erasure."""
