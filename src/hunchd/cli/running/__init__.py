"""`hunch run -- COMMAND`: runs a command transparently and records how it ended."""
