"""E-mail: mailboxes and folders of messages."""
