"""Published models: the download from a hub or an address, checked against known sums."""
