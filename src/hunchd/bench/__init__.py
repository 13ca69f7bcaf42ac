"""Benchmarks that replay real histories without revealing the future."""
