"""Scientific articles in JATS XML: sections, tables and formulae as text."""
