"""Documents in other formats: JSON lines, JSON, gzip and parquet in, `Document` out."""
