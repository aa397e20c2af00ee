"""XML of any size and quality: events, records and repair, with bounded memory."""
