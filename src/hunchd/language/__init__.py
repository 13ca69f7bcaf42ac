"""A language model somewhere else: asked only if the user has switched it on, and never while somebody waits."""
