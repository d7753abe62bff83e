"""Large margin machines that align the domains: mean and second moment of the projection."""
