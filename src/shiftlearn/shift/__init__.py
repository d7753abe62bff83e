"""Is there a shift, how large, and where."""
