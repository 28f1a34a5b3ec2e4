"""What is known: machines, processes, tasks, samples, findings."""
