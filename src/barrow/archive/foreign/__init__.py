"""Documents in files of others: JSON lines, JSON, gzip and parquet in, `Document` out."""
