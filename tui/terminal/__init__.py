"""The terminal side of the app: driver, signals, hang-ups, output filters, key queue."""
