"""Settings: frozen values with defaults and reasons, and where files are kept."""
