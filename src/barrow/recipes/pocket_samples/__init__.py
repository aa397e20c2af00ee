"""Raw files of every format that a reader takes, made of real text that every machine has."""
