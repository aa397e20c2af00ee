"""PyTorch's files, read without PyTorch and without running what is in them."""
