"""From raw material (files, history, manifests) to the values we keep. Pure but for the files it is handed."""
