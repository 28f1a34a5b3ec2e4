"""Everything that is drawn, as plain data: tables, pages, menus and previews. Pure functions."""
