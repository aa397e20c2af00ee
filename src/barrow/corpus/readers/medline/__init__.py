"""PubMed abstracts, as MEDLINE publishes them in XML."""
