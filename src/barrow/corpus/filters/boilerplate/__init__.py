"""Lines that are not a page's own text: menus, notices of cookies, footers."""
