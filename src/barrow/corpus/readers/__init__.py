"""One file per raw format, each with a `Reader`: a frozen dataclass of its settings."""
