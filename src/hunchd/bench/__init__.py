"""How good the predictions are: real histories replayed, nothing of the future shown."""
