"""A collection of shifts: many source/target pairs on which every method is compared alike.

    python benchmarks/shifts --list
    python benchmarks/shifts --role judging --methods source union adapt-cv --labels 5 20
    python benchmarks/shifts --queries --role choosing

Finished cells are kept (``SHIFTLEARN_RESULTS``): an interrupted command goes on where it was. A
new method is a function of a `draws.View` under the decorator `methods.method`, in a module here
that ``__main__`` imports.

Tasks for choosing (defaults, rules, weights) and tasks for judging come from different data sets.
"""
