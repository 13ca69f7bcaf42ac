"""Sessions with agents: their messages, the episodes extracted from them, and compiled prompts."""
