"""HTTP server on loopback and on a Unix socket: parses requests, calls the engine, writes responses."""
