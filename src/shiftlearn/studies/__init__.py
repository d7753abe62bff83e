"""The papers' experiments as code: one registry, one command each."""
