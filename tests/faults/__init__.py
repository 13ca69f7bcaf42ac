"""Fault injection: failing disks, power cuts, kills and damaged files."""
