"""Protocols for communication with other programs.

These are the JSON messages of the HTTP API, the rendezvous file through which clients find the daemon, and the pipe to
helper processes.
"""
