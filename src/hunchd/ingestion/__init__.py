"""Parsers that turn raw material (files, history, manifests) into domain values.

They have no side effects; some read the files that are passed to them.
"""
