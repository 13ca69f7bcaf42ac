"""Sharing of a project's memory with a team, through a dataset on an object store."""
