"""Fixes for errors, learned from changes that helped or found in the history."""
