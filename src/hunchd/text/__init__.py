"""Text handling: scripts, identifiers, words, stems, sentences and BM25, each in one place."""
