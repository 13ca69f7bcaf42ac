"""The read path: a focus becomes a prediction, a prediction pieces, pieces a bundle, most of it ahead of time."""
