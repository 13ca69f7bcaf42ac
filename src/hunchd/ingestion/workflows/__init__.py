"""Workflows read from CI and script files, or mined from executed commands."""
