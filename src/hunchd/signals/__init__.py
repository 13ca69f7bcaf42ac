"""Watchers of files, git and the spool, and the feed that queues their signals."""
