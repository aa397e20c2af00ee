"""Which documents say the same: exactly, nearly (verified), and in clusters."""
