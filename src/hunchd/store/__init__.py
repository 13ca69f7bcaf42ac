"""Storage: journal, in-memory cache, tables on disk, caches and project registry."""
