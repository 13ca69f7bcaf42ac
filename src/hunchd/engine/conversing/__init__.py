"""Sessions: recording, condensing, prompt compilation, and extraction of memories."""
