"""The engine as a server: OpenAI's completions over HTTP."""
