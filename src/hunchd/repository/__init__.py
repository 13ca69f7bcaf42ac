"""Access to a repository on disk, with limits on what is read."""
