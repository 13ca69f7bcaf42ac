"""Parsers that turn raw material (files, git history, manifests) into domain objects.

They have no side effects; some read the files whose paths are passed to them.
"""
