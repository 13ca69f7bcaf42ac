"""The eyes: what happens to files, to git and in the spool, told as signals; and the feed they go into."""
