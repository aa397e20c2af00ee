"""Raw sources to an archive in which every document says where it came from."""
