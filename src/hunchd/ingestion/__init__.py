"""Parsers that turn raw material (files, history, manifests) into domain values.

Pure, except that they read the files that they are given.
"""
