"""Exported graphs, run by ONNX Runtime."""
