"""Text handling: scripts, identifiers, words, stems, sentences and BM25.

Each of these is handled in a single module.
"""
