"""What manifests and tool settings say of how a project is worked on."""
