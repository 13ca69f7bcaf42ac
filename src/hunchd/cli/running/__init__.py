"""`hunch run -- COMMAND`: a command runs as if it had been started alone, and how it ended is not forgotten."""
