"""Where image-text pairs come from: folders, JSON lines, parquet and tar files."""
