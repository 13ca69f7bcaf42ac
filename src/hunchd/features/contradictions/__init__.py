"""Contradictions between memories: finding, listing and resolving them."""
