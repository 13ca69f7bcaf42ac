"""Knowledge as its owner sees it: facts, documents, history, import and export, sharing."""
