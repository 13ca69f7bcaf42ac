"""Answers to context and prediction requests, from prefetched bundles where possible."""
