"""Settings with their defaults and reasons, and the folders in which hunchd stores its files."""
