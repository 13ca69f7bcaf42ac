"""Workflows that are read from CI and script files, or mined from executed commands."""
