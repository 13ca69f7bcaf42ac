"""Search over memories, history and code."""
