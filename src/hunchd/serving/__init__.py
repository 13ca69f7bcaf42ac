"""The doors: HTTP on loopback and on a Unix socket. They parse, ask the engine, answer."""
