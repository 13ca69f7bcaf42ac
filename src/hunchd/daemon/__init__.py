"""Processes of the daemon: the front that serves requests, and helper processes started on demand."""
