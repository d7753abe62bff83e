"""A collection of shifts: many source/target pairs on which every method is compared alike.

    python benchmarks/shifts run --role judging --methods source union adapt-cv
    python benchmarks/shifts queries --role choosing
    python benchmarks/shifts table --role judging

Tasks for choosing (defaults, rules, weights) and tasks for judging come from different data sets.
"""
