"""Write path for memories: validation, one value per key, journal records, store writer, erasure."""
