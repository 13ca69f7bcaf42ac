"""The `hunch` command: a client of the daemon, built to start fast."""
