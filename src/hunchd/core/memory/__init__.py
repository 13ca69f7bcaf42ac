"""Write path of memories: validation, one value a key, journal records, store writer, erasure."""
