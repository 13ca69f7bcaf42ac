"""Workflows: read from CI and script files, and mined from the commands that were given."""
