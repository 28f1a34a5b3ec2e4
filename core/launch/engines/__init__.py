"""Ways to start a run on its machine, one file each; code elsewhere names no engine."""
