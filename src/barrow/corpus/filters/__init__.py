"""What stays and what goes, document by document: each filter answers keep or a named reason."""
