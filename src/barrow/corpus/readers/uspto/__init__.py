"""Patents of the USPTO: their backgrounds, from APS and XML."""
