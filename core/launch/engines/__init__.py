"""Ways to start a run on its machine, one file each; nothing outside knows one by its name."""
