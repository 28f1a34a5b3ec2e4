"""The totals in the header line, and the title of the terminal."""
