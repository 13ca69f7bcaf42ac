"""Processes of the daemon: the front process and its helper processes.

The front process serves requests; it starts the helper processes on demand.
"""
