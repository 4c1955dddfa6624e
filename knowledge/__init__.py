"""What is known about machine-learning stacks, and the reasoning over it: pure, no I/O but its own data."""
