"""The table of keys, and what is made from it: bindings, labels, the README's table."""
