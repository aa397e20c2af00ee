"""`barrow model`: fetch models, look into them, and apply them to texts and images."""
