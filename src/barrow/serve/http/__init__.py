"""The engine as a server: OpenAI's API over HTTP, and a page."""
