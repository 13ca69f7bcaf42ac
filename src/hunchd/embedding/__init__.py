"""Texts to vectors, on this machine, without a network. Loaded when needed and let go of when idle."""
