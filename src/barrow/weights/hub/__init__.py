"""Published models, downloaded from a hub or a URL and checked against known sums."""
