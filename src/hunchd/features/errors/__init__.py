"""Fixes of errors: learned from what helped, or found in history."""
