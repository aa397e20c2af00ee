"""Models in the formats of others: ONNX graphs, GGUF files."""
