"""The terminal app. Textual and Rich are imported here only."""
