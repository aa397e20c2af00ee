"""PyTorch's files, read without PyTorch and without running code in them."""
