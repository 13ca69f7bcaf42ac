"""Workflows learned from the commands of a project."""
