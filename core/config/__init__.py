"""The config: its values, its file, and what each key may hold."""
