"""A model that exists and a few labelled rows of the new data: Adapt-SVM and its relatives."""
