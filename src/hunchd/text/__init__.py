"""Text handling: scripts, identifiers, words, stems, sentences and BM25.

Each is handled in one module only.
"""
