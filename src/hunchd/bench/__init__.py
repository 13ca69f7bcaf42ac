"""Benchmarks that replay real histories without showing the future."""
