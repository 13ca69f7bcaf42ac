"""Access to a repository on disk within safe limits."""
