"""``python -m shiftlearn.cli``."""

from shiftlearn.cli import main

main()
