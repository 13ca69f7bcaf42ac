"""Search in source code with a compact BM25 index of its definitions."""
