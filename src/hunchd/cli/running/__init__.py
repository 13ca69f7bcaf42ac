"""`hunch run -- COMMAND`: runs a command unchanged, and records how it ended."""
