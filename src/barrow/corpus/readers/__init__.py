"""One file per raw format, each with a `read(path)` and its `READER`."""
