"""What will be needed next: learned from history, contents and the session; measured in `hunchd.bench`."""
