"""Web archives: WARC and ARC records, their HTTP responses, and the pages in them."""
