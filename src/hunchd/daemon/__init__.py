"""Processes of the daemon: the front and its helper processes.

The front serves requests; helpers are started on demand.
"""
