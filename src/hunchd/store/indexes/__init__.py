"""What questions need at hand: words, vectors, texts and keys, packed."""
