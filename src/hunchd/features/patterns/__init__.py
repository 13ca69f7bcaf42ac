"""Code patterns: mined in the background, stored as memories."""
