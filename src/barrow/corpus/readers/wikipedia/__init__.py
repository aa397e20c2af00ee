"""Wikipedia and other MediaWiki sites, from XML dumps."""
