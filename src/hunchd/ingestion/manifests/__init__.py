"""Parsers of manifests and tool settings."""
