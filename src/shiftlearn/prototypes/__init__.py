"""Classes in scattered regions: ensembles of linear machines, one for each region."""
