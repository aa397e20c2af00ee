"""`barrow corpus`: look at a built corpus, check it, compare it, and take documents out of it."""
