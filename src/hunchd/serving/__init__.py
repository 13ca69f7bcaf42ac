"""HTTP server on loopback and on a Unix socket.

Parses requests, calls the engine, writes responses.
"""
