"""Detail pages: sections of facts about one machine, process, task, sample, order or run."""
