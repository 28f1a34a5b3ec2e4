"""Files that a run needs on its machine: uv, packages, code, data and images."""
