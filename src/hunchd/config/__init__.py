"""Settings with defaults and reasons, and the folders in which files are stored."""
