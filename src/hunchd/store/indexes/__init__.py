"""Packed in-memory indexes: words, vectors, bodies and keys."""
