"""Search in memories, history and code."""
