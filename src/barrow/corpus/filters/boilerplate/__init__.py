"""Boilerplate lines of web pages: menus, cookie notices, footers."""
