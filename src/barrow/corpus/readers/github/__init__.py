"""Source code: repositories as folders or archives."""
