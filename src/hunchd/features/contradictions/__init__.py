"""Contradictions between memories: found, listed, resolved."""
