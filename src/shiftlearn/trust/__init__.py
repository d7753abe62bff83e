"""What can be known about the target without its labels."""
