"""From markup to plain text: encodings, spaces, dates; a package for each kind of markup."""
