"""The one command of the collection; see ``python benchmarks/shifts --help``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shiftlearn.studies import environment
from shifts import few_labels, label_free, peers, queries  # noqa: F401 - enter their methods
from shifts.methods import METHODS
from shifts.run import cells, run, run_cell, store
from shifts.tables import collect, markdown, summary
from shifts.task import TASKS, tasks

RESULTS = Path(__file__).resolve().parents[1] / "results"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="shifts", description="Every method on every shift.")
    parser.add_argument("--list", action="store_true", help="list tasks and methods, and end")
    parser.add_argument("--role", choices=("choosing", "judging"), default="judging")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), metavar="NAME")
    parser.add_argument("--labels", nargs="+", type=int, default=[0, 5, 20], metavar="K",
                        help="labelled target rows a class, 0 for none")  # fmt: skip
    parser.add_argument("--draws", type=int, default=3, help="draws of the labelled rows")
    parser.add_argument("--queries", nargs="*", metavar="RULE",
                        help="compare rules for choosing rows to label (default: all)")  # fmt: skip
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only tasks of these data sets")
    parser.add_argument("--against", nargs="+", default=["source"], metavar="COLUMN")
    parser.add_argument("--name", help="write benchmarks/results/shifts-NAME.json and .md")
    return parser.parse_args(given)


def main() -> None:
    args = arguments()
    if args.list:
        for task in tasks():
            print(f"{task.role:10}{task.data:16}{task.kind:24}{task.name}")
        print("methods:", ", ".join(METHODS))
        return
    kept = store()
    if args.queries is None:
        work, todo = run_cell, list(cells(args.role, args.methods, args.labels, args.draws))
    else:
        rules = args.queries or list(queries.RULES)
        work, todo = queries.run_cell, list(queries.cells(args.role, rules, args.draws))
    if args.data:
        todo = [c for c in todo if TASKS[str(c.settings["task"])].data in args.data]
    for failure in run(todo, work, kept):
        print("failed:", failure, file=sys.stderr)
    columns = collect(todo, kept)
    page = markdown(columns, args.against)
    print(page)
    if args.name:
        content = {
            "role": args.role,
            "draws": args.draws,
            "machine": environment(),
            "methods": summary(columns, args.against),
            "tasks": {n: {t: v.tolist() for t, v in d.items()} for n, d in columns.items()},
        }
        (RESULTS / f"shifts-{args.name}.json").write_text(json.dumps(content, indent=1) + "\n")
        (RESULTS / f"shifts-{args.name}.md").write_text(page + "\n")


if __name__ == "__main__":
    main()
