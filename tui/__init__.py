"""The room: Textual screens and the headless commands."""
