"""Parsers for package manifests and tool settings."""
