"""The launch form and the preview of a launch."""
