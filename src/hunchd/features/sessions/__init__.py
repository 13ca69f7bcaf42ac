"""Sessions with agents: messages, episodes, compiled prompts."""
