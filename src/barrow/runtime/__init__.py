"""A thin wrapper for training scripts that exist: any JAX model, on any devices and processes."""

from __future__ import annotations

from barrow.runtime.runtime import Runtime

__all__ = ["Runtime"]
