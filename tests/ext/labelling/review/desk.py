"""A server that keeps the HTTP contract of `goldassay review` in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

import goldassay

SOURCE = Path(goldassay.__file__).parent
ASSETS = SOURCE / "ext" / "labelling" / "review" / "assets"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
Draft = Mapping[str, Any]


class Desk:
    """Records to decide, and the decisions: what the page's server keeps in its journal."""

    def __init__(self, task: str, records: Sequence[Draft], outputs: Sequence[str], **setup: Any) -> None:
        self.records = list(records)
        self.systems: list[str] = list(records[0].get("suggestions", {})) if records else []
        self.hidden = setup.pop("hidden", False)
        self.blind: set[int] = set(setup.pop("blind", ()))
        self.knowledge: list[dict[str, str]] = setup.pop("knowledge", [])
        self.setup = {
            "title": f"Review {task}",
            "task": task,
            "mode": "label",
            "question": "compare",
            "outputs": list(outputs),
            "inputs": [],
            "labels": [],
            "types": [],
            "predicates": [],
            "several": False,
            "schema": None,
            "fields": [],
            "reviewer": "ann",
            "judge": False,
            "modes": [],
            **setup,
        }
        self.lines: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []
        self.guidelines = {"text": "A place is TOP.", "version": 1}
        self.fail_next = 0
        self.fail_with = 503
        self.lock = threading.Lock()

    def decisions(self) -> dict[str, dict[str, Any]]:
        """The decision of each item that was not taken back."""
        undone = {line["undoes"] for line in self.lines if line["kind"] == "undo"}
        return {line["item"]: line for line in self.lines if line["kind"] != "undo" and line["decision"] not in undone}

    def gold(self) -> list[dict[str, Any] | None]:
        """The value of each record, in their order; None where there is none."""
        decided = self.decisions()
        return [decided.get(str(number), {}).get("value") for number in range(len(self.records))]

    def next(self) -> list[str]:
        decided = self.decisions()
        items = [str(number) for number in range(len(self.records))]
        open_items = [item for item in items if item not in decided]
        skipped = [item for item in items if decided.get(item, {}).get("kind") == "skip"]
        return [*open_items, *skipped][:8]

    def progress(self) -> dict[str, Any]:
        done = sum(line["kind"] != "skip" for line in self.decisions().values())
        return {
            "revision": len(self.lines) + len(self.changes),
            "done": done,
            "left": len(self.records) - done,
            "total": len(self.records),
            "conflicts": 0,
            "skipped": 0,
            "unsure": 0,
            "pace": 4.2 if done else None,
            "minutes": (len(self.records) - done) * 0.07 if done else None,
            "sitting": {"done": done, "minutes": done * 0.07},
            "verdict": None,
            "decided": False,
            "systems": None if self.hidden else self.systems,
            "quality": {},
            "judge": None,
            **self.setup.get("figures", {}),
        }

    def record(self, item: str) -> dict[str, Any]:
        number = int(item)
        record = dict(self.records[number])
        suggestions = record.pop("suggestions", {})
        sides = [
            {"key": str(place), "system": None if self.hidden else name, "output": output, "value": output}
            for place, (name, output) in enumerate(suggestions.items(), 1)
        ]
        fields = {name: value for name, value in record.items() if name not in ("id", "sampling")}
        decision = self.decisions().get(item)
        return {
            "item": item,
            "visit": "first",
            "id": record["id"],
            "fields": fields,
            "suggestions": [] if number in self.blind else sides,
            "blind": number in self.blind,
            "decision": decision and {**decision, "modes": self.modes_of(decision)},
        }

    async def get_setup(self, request: Request) -> Response:
        index = [[str(number), record["id"]] for number, record in enumerate(self.records)]
        systems = None if self.hidden else self.systems
        whole = {**self.setup, "index": index, "records": len(index), "systems": systems, "next": self.next()}
        return JSONResponse({**whole, "guidelines": self.guidelines, "progress": self.progress()})

    async def post_records(self, request: Request) -> Response:
        items = (await request.json())["items"]
        return JSONResponse({"records": [self.record(item) for item in items]})

    async def post_decisions(self, request: Request) -> Response:
        decision = await request.json()
        if self.fail_next:
            self.fail_next -= 1
            return JSONResponse({"error": "not now"}, self.fail_with)
        with self.lock:
            return self.write(decision)

    def write(self, decision: dict[str, Any]) -> Response:
        """Append a line, once for each id of a decision."""
        item = decision["item"]
        undone = None
        if decision["decision"] not in [line["decision"] for line in self.lines]:
            if decision["kind"] == "undo":
                latest = sorted(self.decisions().values(), key=self.lines.index)
                if not latest:
                    return JSONResponse({"error": "there is nothing to undo"}, 409)
                undone = latest[-1]
                item = undone["item"]
                decision = {**decision, "undoes": undone["decision"], "item": item}
            self.lines.append(decision)
        upcoming = self.next()
        if undone:
            upcoming = [item, *(each for each in upcoming if each != item)]
        answer = {"decision": decision["decision"], "item": item, "next": upcoming, "progress": self.progress()}
        return JSONResponse({**answer, "judge": None, "undone": undone})

    async def get_progress(self, request: Request) -> Response:
        return JSONResponse(self.progress())

    def modes_of(self, line: dict[str, Any]) -> list[str]:
        """The modes of a decision after the changes that came later."""
        names = list(line.get("modes", []))
        for change in self.changes:
            if self.lines.index(line) >= change["lines"]:
                continue
            if change["kind"] in ("rename", "merge"):
                names = [change["to"] if name == change["mode"] else name for name in names]
            if change["kind"] == "move" and line["item"] in change["items"]:
                names = [name for name in names if name != change["mode"]] + [change["to"]]
        return list(dict.fromkeys(names))

    def modes(self) -> dict[str, Any]:
        """What the tab of modes shows."""
        read = sorted(self.decisions().values(), key=self.lines.index)
        described = {each["mode"]: each["description"] for each in self.changes if each["kind"] == "describe"}
        rows: dict[str, list[dict[str, Any]]] = {}
        untagged = []
        newest = 0
        for number, line in enumerate(read):
            record = self.records[int(line["item"])]
            row = {"item": line["item"], "id": record["id"], "note": line["note"], "grade": line.get("grade")}
            row["text"] = str(record.get("text", ""))[:160]
            names = self.modes_of(line)
            newest = number + 1 if set(names) - set(rows) else newest
            for name in names:
                rows.setdefault(name, []).append(row)
            if line["note"] and not names:
                untagged.append(row)
        modes = []
        for name, examples in sorted(rows.items(), key=lambda pair: -len(pair[1])):
            share = len(examples) / len(read)
            grades = [row["grade"] for row in examples if row["grade"]]
            modes.append(
                {
                    "name": name,
                    "description": described.get(name, ""),
                    "records": len(examples),
                    "share": {"value": share, "low": share / 2, "high": min(1.0, share * 1.6)},
                    "cost": sum(grades) / len(read) if grades else None,
                    "examples": examples,
                }
            )
        figures = {"read": len(read), "since_new": len(read) - newest, "population": 10 * len(self.records)}
        return {"modes": modes, "untagged": untagged, **figures}

    async def change_modes(self, request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse(self.modes())
        change = await request.json()
        undone = None
        if change["kind"] == "undo":
            if not self.changes:
                return JSONResponse({"error": "there is nothing to undo"}, 409)
            last = self.changes.pop()
            undone = {"change": last["kind"], "mode": last["mode"], "to": last.get("to")}
        else:
            self.changes.append({**change, "lines": len(self.lines)})
        return JSONResponse({**self.modes(), "undone": undone})

    async def search(self, request: Request) -> Response:
        words = request.query_params["q"].lower()
        return JSONResponse({"results": [each for each in self.knowledge if words in each["label"].lower()][:20]})

    async def guide(self, request: Request) -> Response:
        if request.method == "PUT":
            sent = await request.json()
            if sent["version"] != self.guidelines["version"]:
                return JSONResponse({"error": "saved by somebody else", **self.guidelines}, 409)
            self.guidelines = {"text": sent["text"], "version": sent["version"] + 1, "record": sent["record"]}
        return JSONResponse(self.guidelines)

    async def export(self, request: Request) -> Response:
        n = sum(value is not None for value in self.gold())
        return JSONResponse({"path": "gold.jsonl", "records": n, "left_out": 0, "warnings": [], "systems": []})

    async def asset(self, request: Request) -> Response:
        name = request.path_params.get("name", "page.html")
        shared = {"report.css": "page.css", "steps.js": "steps.js"}
        place = SOURCE / "reporting" / "pages" / "assets" / shared[name] if name in shared else ASSETS / name
        return FileResponse(place, headers={"Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff"})

    def app(self) -> Starlette:
        """The application under a token."""
        routes = [
            Route("/token/", self.asset),
            Route("/token/assets/{name:path}", self.asset),
            Route("/token/setup", self.get_setup),
            Route("/token/records", self.post_records, methods=["POST"]),
            Route("/token/decisions", self.post_decisions, methods=["POST"]),
            Route("/token/progress", self.get_progress),
            Route("/token/modes", self.change_modes, methods=["GET", "POST"]),
            Route("/token/search", self.search),
            Route("/token/guidelines", self.guide, methods=["GET", "PUT"]),
            Route("/token/export", self.export, methods=["POST"]),
        ]
        return Starlette(routes=routes)
