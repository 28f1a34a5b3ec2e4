"""The plain heart of evalroom: data, events, and pure functions over them."""
