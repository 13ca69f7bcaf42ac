"""What the daemon holds in memory: of each project, of what happens, and what the engine is put together from."""
