"""Knowledge that a user can view and edit: facts, documents, history, import, export, sharing."""
