"""Campaigns against the running daemon: requests, kills, failing files, power cuts, a busy day, a crowd of clients."""
