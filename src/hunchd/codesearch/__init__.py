"""Search over source code: chunks by definition, a compact BM25 index, ranking by what was asked."""
