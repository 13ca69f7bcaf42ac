"""Learning of workflows from the commands that are run in a project."""
