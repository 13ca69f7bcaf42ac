"""Sessions of agents: messages, episodes, compiled prompts."""
