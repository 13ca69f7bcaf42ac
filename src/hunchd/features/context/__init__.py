"""Answers to context and prediction requests, prefetched where possible."""
