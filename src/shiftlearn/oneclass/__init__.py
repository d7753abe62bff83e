"""One-class machines that learn from related tasks and from uncertain rows."""
