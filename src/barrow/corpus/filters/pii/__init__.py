"""Personal data in texts: found by kind (mail, phone, IP, keys, accounts), replaced or counted."""
