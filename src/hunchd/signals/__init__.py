"""Watchers of files, git repositories and the spool, and the queue of the signals they emit."""
