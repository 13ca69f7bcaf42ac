"""Settings with their defaults and reasons, and the folders for hunchd's files."""
