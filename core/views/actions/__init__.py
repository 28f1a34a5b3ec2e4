"""The action menu, the preview of a plan, and the outcomes of its orders."""
