"""Scientific articles in JATS XML: sections, tables and formulas as text."""
