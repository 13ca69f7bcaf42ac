"""Watchers of files, git and the spool, and their signal queue."""
