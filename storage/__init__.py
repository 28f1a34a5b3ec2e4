"""What is kept on the operator's disk."""
