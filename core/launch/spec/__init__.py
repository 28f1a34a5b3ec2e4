"""Launch specs: their values, their TOML text, and what each key may hold."""
