"""HTTP server on loopback and on a Unix socket.

It parses requests, calls the engine and sends responses.
"""
