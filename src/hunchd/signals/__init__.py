"""Watchers for files, git repositories and the spool, and a queue for their signals."""
