"""Code patterns, which are mined in the background and stored as memories."""
