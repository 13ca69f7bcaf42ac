"""Faults on demand: failing disks, power cuts, kills, damaged files."""
