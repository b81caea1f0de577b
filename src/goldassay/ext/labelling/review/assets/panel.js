/* Progress, pace, the verdict so far, and how far people and judges can be trusted. */

import { byId, button, count, make, shape } from "./dom.js";

const rate = (value) => value.toFixed(2);
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
const percent = (value) => `${Math.round(100 * value)} %`;

/* The difference with its interval on a line with zero, as the report draws it. */
function gap({ difference, low, high }) {
  const start = Math.min(0, low);
  const width = Math.max(0, high) - start || 1;
  const at = (value) => 400 * (value - start) / width;
  const svg = shape("svg", { class: "gap", viewBox: "-12 0 424 62", role: "img", "aria-label": `${signed(difference)}, interval ${signed(low)} to ${signed(high)}` });
  const zero = shape("text", { x: at(0), y: 60, "text-anchor": at(0) < 40 ? "start" : at(0) > 360 ? "end" : "middle" });
  zero.textContent = "0";
  svg.append(shape("line", { class: "zero", x1: at(0), x2: at(0), y1: 4, y2: 44 }), zero,
    shape("rect", { class: "ends", x: at(low), y: 18, width: at(high) - at(low), height: 12, rx: 2 }), shape("circle", { class: "point", cx: at(difference), cy: 24, r: 9 }));
  return svg;
}

const row = (name, value, ends = null) => make("div", {}, make("dt", {}, name), make("dd", {}, value, ends ? make("span", { class: "ends" }, ` [${ends.map(rate).join(", ")}]`) : null));

export function minutes(value) {
  if (value === null || value === undefined) return "";
  return value < 1 ? "less than a minute" : value < 90 ? `about ${count(Math.round(value), "minute")}` : `about ${(value / 60).toFixed(1)} hours`;
}

export class Panel {
  constructor(server, setup, say) {
    this.server = server;
    this.setup = setup;
    this.say = say;
    this.element = byId("panel");
    this.revision = null;
    this.goOn = false;
  }

  toggle() {
    this.element.classList.toggle("open");
    if (this.element.classList.contains("open")) this.element.focus();
  }

  draw(progress) {
    byId("bar").max = Math.max(1, progress.total);
    byId("bar").value = progress.done;
    byId("count").textContent = [`${progress.done} of ${progress.total}`, progress.left ? minutes(progress.minutes) : "all done"].filter(Boolean).join(" · ");
    const state = JSON.stringify(progress);
    if (state === this.revision) return;
    this.revision = state;
    this.progress = progress;
    const parts = [this.verdict(progress), this.numbers(progress), this.quality(progress.quality ?? {}), this.judge(progress.judge), this.gold(progress)];
    this.element.replaceChildren(...parts.filter(Boolean).map((part) => make("section", {}, part)));
  }

  verdict({ verdict, decided }) {
    if (this.setup.question && this.setup.question !== "compare") return null;
    if (!verdict) return this.setup.mode === "compare" ? [make("h2", {}, "Verdict"), make("p", { class: "quiet" }, "Not known yet.")] : null;
    const kind = verdict.proven ? (verdict.difference > 0 ? "better" : "worse") : "";
    const details = verdict.details?.length ? make("details", { class: "quiet" }, make("summary", {}, "Details"), ...verdict.details.map((line) => make("p", {}, line))) : null;
    const stop = decided && !this.goOn ? make("div", { class: "note" }, make("p", {}, "This is decided. More labels narrow the interval."),
      button("Go on", null, () => { this.goOn = true; this.revision = null; this.draw(this.progress); }), " ", button("Write gold.jsonl", null, () => this.export())) : null;
    return [make("h2", {}, "Verdict"), make("div", { class: `verdict ${kind}` }, make("p", { class: "sentence small" }, verdict.sentence),
      Number.isFinite(verdict.difference) && Number.isFinite(verdict.low) ? gap(verdict) : null, details, stop)];
  }

  numbers(progress) {
    const sitting = progress.sitting ?? {};
    return [make("h2", {}, "Progress"), make("dl", { class: "pairs list-rows" }, row("decided", String(progress.done)), row("left", String(progress.left)),
      progress.skipped ? row("skipped", String(progress.skipped)) : null, progress.unsure ? row("unsure", String(progress.unsure)) : null,
      progress.conflicts ? row("conflicts", String(progress.conflicts)) : null,
      progress.pace ? row("pace", `${progress.pace.toFixed(1)} s a record`) : null,
      sitting.done ? row("this sitting", `${sitting.done} in ${minutes(sitting.minutes).replace("about ", "") || "a moment"}`) : null)];
  }

  quality({ anchoring, slips, agreement, missed }) {
    const rows = [
      anchoring ? row("pull of suggestions", signed(anchoring.value), [anchoring.low, anchoring.high]) : null,
      slips ? row("own slips", percent(slips.value), [slips.low, slips.high]) : null,
      ...(agreement ?? []).map((each) => row(`${each.name}${each.between ? `, ${[each.between].flat().join(" and ")}` : ""}`, rate(each.value), Number.isFinite(each.low) ? [each.low, each.high] : null)),
      missed ? row("missed by both", missed.value.toFixed(1), [missed.low, missed.high]) : null,
    ].filter(Boolean);
    return rows.length ? [make("h2", {}, "People"), make("dl", { class: "pairs list-rows" }, rows)] : null;
  }

  judge(judge) {
    if (!judge) return null;
    const shown = ["agreement", "sensitivity", "specificity"].filter((name) => judge[name]);
    return [make("h2", {}, "Judge beside you"), make("dl", { class: "pairs list-rows" }, row("records", String(judge.n)), shown.map((name) => row(name, rate(judge[name][0]), judge[name].slice(1))))];
  }

  gold(progress) {
    const who = make("input", { id: "who", value: this.server.who, autocomplete: "off", "data-own": "yes" });
    who.addEventListener("change", () => {
      if (!who.value.trim()) return;
      localStorage.setItem("goldassay-reviewer", who.value.trim());
      location.reload();
    });
    const hidden = this.setup.mode === "compare" && !progress.systems;
    const names = progress.systems ? make("p", { class: "quiet" }, `Systems: ${progress.systems.join(", ")}`) : null;
    return [make("h2", {}, "Gold"), make("p", {}, button("Write gold.jsonl", null, () => this.export()), " ", hidden ? button("Show the names", null, () => this.reveal()) : null, " ", button("End the review", null, () => this.end())), names,
      make("label", { class: "who" }, make("span", { class: "quiet" }, "Reviewer"), who)];
  }

  async export() {
    const answer = await this.server.ask("export", "POST", {}).catch((error) => ({ error }));
    if (answer.error) return this.say(answer.error.message, true);
    const left = answer.left_out ? `, ${answer.left_out} left out` : "";
    return this.say([`${answer.records} records in ${answer.path}${left}`, ...(answer.warnings ?? [])].join(". "));
  }

  async end() {
    if (!confirm("End the review for everybody? What is decided is saved, and the terminal goes on with the verdict.")) return;
    await this.server.ask("end", "POST", {});
    this.server.ended = true;
    document.body.replaceChildren(make("p", { id: "ended" }, "The review has ended; what was decided is saved. You may close this page."));
  }

  async reveal() {
    if (!confirm("Show the names of the systems? From then on the comparison is no longer blind.")) return;
    await this.server.ask("reveal", "POST", {});
    location.reload();
  }
}
