"""The `hunch` command: one more client of the daemon, made to start fast."""
