"""Every key: one table, from which bindings, key bar, help and README are made."""
