"""Parsers that turn raw material (files, git history, manifests) into domain objects.

The parsers have no side effects, but some read the files whose paths they are given.
"""
