/* Failure modes: what goes wrong, and how often. On a record they are named; on the tab of their own they are renamed,
   merged and split, with keys or by dragging: a mode onto another one, a record onto another mode. */

import { byId, button, count, make, shape } from "./dom.js";
import { find, matching } from "./finder.js";
import { inOrder } from "./sequence.js";

const GRADES = [[1, "slight"], [2, "bad"], [3, "very bad"]];
const STEP = 0.05; /* shares are drawn on an axis that ends at a multiple of this */
const PAUSE = 1000; /* milliseconds without a key, after which a description is saved */
const MERGED = "there already: both become one";

const percent = (share) => (100 * share).toFixed(share < 0.095 ? 1 : 0);

/* Names modes for a record, known or new ones, and says how bad the failure is; all of it may be taken back. */
export function pickModes(setup, context) {
  const option = ({ name, description }) => ({ label: name, description: context.modes.has(name) ? "named; choose it again to remove it" : description });
  function toggle(name) {
    if (!setup.modes.some((mode) => mode.name === name)) setup.modes.push({ name, description: "", isNew: true });
    if (!context.modes.delete(name)) context.modes.add(name);
    if (!context.modes.size) context.grade = null;
  }
  function grade(number) {
    context.grade = context.grade === number ? null : number;
    return true;
  }
  function key(name) {
    const number = Number(name);
    if (!context.modes.size) return undefined;
    if (name === "Backspace") return toggle([...context.modes].at(-1)) ?? false;
    return name !== " " && GRADES.some(([value]) => value === number) ? grade(number) : undefined;
  }
  function head(done) {
    const chips = [...context.modes].map((name) => make("button", { type: "button", class: "tag strong", "aria-label": `Take back ${name}`, click: () => { toggle(name); done(); } }, make("span", { dir: "auto" }, name), " ×"));
    const grades = GRADES.map(([number, word]) => make("button", { type: "button", "aria-pressed": String(context.grade === number), click: () => { grade(number); done(); } }, word, make("kbd", {}, String(number))));
    return chips.length ? [make("p", { class: "choices" }, chips), make("div", { class: "segments", role: "group", "aria-label": "How bad" }, grades)] : [];
  }
  return find({
    title: "What went wrong?",
    search: (query) => matching(setup.modes.map(option), query),
    free: (label) => ({ label, description: "a new mode" }),
    several: { choose: ({ label }) => toggle(label), key, head },
  });
}

export class Modes {
  constructor(server, setup, { say, open, changed, redraw }) {
    Object.assign(this, { server, setup, say, open, changed, redraw });
    this.element = byId("modes");
    this.state = null; /* what the server says */
    this.groups = []; /* modes with their records, and what has a note but no mode */
    this.name = undefined; /* of the active mode; null: notes without a mode */
    this.place = -1; /* of the active record among those of the mode */
    this.chosen = new Set(); /* items that move together */
    this.dragged = null; /* { name } of a mode, or { items } */
  }

  get active() {
    return this.groups.find((group) => group.name === this.name) ?? this.groups[0];
  }
  get items() {
    const examples = this.active?.examples ?? [];
    const chosen = examples.filter((each) => this.chosen.has(each.item));
    return (chosen.length ? chosen : examples.slice(this.place, this.place + 1).filter(() => this.place >= 0)).map((each) => each.item);
  }

  async show() {
    this.receive(await this.server.ask("modes"));
  }

  /* Somebody else decided: their modes can be named here too. */
  async follow() {
    const state = await this.server.ask("modes").catch(() => null);
    if (!state || JSON.stringify(state) === JSON.stringify(this.state)) return;
    this.changed();
    this.receive(state);
  }

  receive(state) {
    const { modes, untagged } = state;
    this.state = state;
    this.groups = [...modes, ...(untagged.length ? [{ name: null, description: "", records: untagged.length, share: null, cost: null, examples: untagged }] : [])];
    const names = new Set(modes.map((mode) => mode.name));
    const unsaved = this.setup.modes.filter((mode) => mode.isNew && !names.has(mode.name));
    this.setup.modes = [...modes.map(({ name, description }) => ({ name, description })), ...unsaved];
    const isWriting = this.element.contains(document.activeElement) && document.activeElement.matches("textarea");
    if (!this.element.hidden && !this.dragged && !isWriting) this.draw();
  }

  async change(kind, more) {
    this.receive(await this.server.ask("modes", "POST", { change: crypto.randomUUID(), kind, ...more }));
    this.changed(...(kind === "rename" || kind === "merge" ? [more.mode, more.to] : []));
    this.redraw();
  }

  /* What keys and dragging do. */

  find(title, source) {
    const others = this.state.modes.filter((mode) => mode.name !== source);
    return find({ title, search: (query) => matching(others.map((mode) => ({ label: mode.name, description: mode.description })), query), free: (label) => ({ label, description: "a new mode" }) });
  }
  async rename() {
    const { name } = this.active ?? {};
    if (typeof name !== "string") return this.say("Choose a mode first: ↓ or a click.", true);
    const options = this.state.modes.filter((mode) => mode.name !== name).map((mode) => ({ label: mode.name, description: MERGED }));
    const option = await find({ title: `New name of ${name}`, search: (query) => (query ? matching(options, query).filter((each) => each.label === query) : []), free: (label) => ({ label, description: "the new name" }), value: name });
    if (!option || option.label === name) return undefined;
    return option.description === MERGED ? this.merge(name, option.label) : this.become("rename", name, option.label, `${name} is ${option.label} now.`);
  }
  async merge(name, to) {
    await this.become("merge", name, to, `${name} is part of ${to} now.`);
  }
  async become(kind, mode, to, message) {
    this.name = to;
    this.place = -1;
    this.chosen.clear();
    await this.change(kind, { mode, to });
    this.say(`${message} u takes it back.`);
  }
  /* Records leave the mode for another one: a split, if that one is new. */
  async move(items, mode, to) {
    this.chosen.clear();
    await this.change("move", { mode, to, items });
    this.place = Math.min(this.place, this.active.examples.length - 1);
    this.draw();
    this.say(`${count(items.length, "record")} moved to ${to}. u takes it back.`);
  }
  async mergeOrMove() {
    const { active, items } = this;
    if (!active || (active.name === null && !items.length)) return this.say("Choose records first: → and Space, or a click.", true);
    const option = await this.find(items.length ? `Move ${count(items.length, "record")} to` : `Merge ${active.name} into`, active.name);
    if (!option || option.label === active.name) return undefined;
    return items.length ? this.move(items, active.name, option.label) : this.merge(active.name, option.label);
  }
  async undo() {
    const answer = await this.server.ask("modes", "POST", { change: crypto.randomUUID(), kind: "undo" });
    const { change, mode, to } = answer.undone ?? {};
    this.changed(...(change === "rename" ? [to, mode] : []));
    this.chosen.clear();
    this.name = mode ?? this.name;
    this.place = -1;
    this.receive(answer);
    this.say("The last change of modes is taken back.");
  }

  step(by) {
    const { groups, active } = this;
    if (!groups.length) return;
    if (this.place >= 0) this.place = Math.max(0, Math.min(this.place + by, active.examples.length - 1));
    else this.select(groups[Math.max(0, Math.min(groups.indexOf(active) + by, groups.length - 1))].name);
    this.reveal();
  }
  reveal() {
    this.draw();
    this.element.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
  }
  select(name) {
    this.name = name;
    this.place = -1;
    this.chosen.clear();
  }
  enter() {
    const example = this.active?.examples[this.place];
    if (example) return this.open(example.item);
    this.place = this.active?.examples.length ? 0 : -1;
    return this.reveal();
  }
  toggle(item) {
    if (!this.chosen.delete(item)) this.chosen.add(item);
    this.draw();
  }
  mark() {
    const example = this.active?.examples[Math.max(0, this.place)];
    if (!example) return;
    this.place = Math.max(0, this.place);
    this.toggle(example.item);
    this.step(1);
  }
  keys() {
    const isMoving = this.items.length > 0;
    const isNamed = typeof this.active?.name === "string";
    return [
      { keys: ["Enter"], label: this.place >= 0 ? "Open the record" : "Go to its records", main: this.active ? "Open" : false, run: () => this.enter() },
      { keys: ["ArrowDown"], label: "Next mode, or next record", run: () => this.step(1) },
      { keys: ["ArrowUp"], label: "Previous mode, or previous record", run: () => this.step(-1) },
      { keys: ["ArrowRight"], label: "To the records of the mode", run: () => { if (this.place < 0) this.enter(); } },
      { keys: ["ArrowLeft", "Escape"], label: "Back to the modes", run: () => { this.place = -1; this.reveal(); } },
      { keys: [" "], label: "Choose the record, to move it with others", run: () => this.mark() },
      { keys: ["m"], label: "Merge the mode into another; move chosen records to another, or to a new one", main: isMoving ? "Move" : isNamed ? "Merge" : false, run: () => this.mergeOrMove() },
      { keys: ["e"], label: "Rename the mode", main: isNamed ? "Rename" : false, run: () => this.rename() },
      { keys: ["d"], label: "Describe the mode", main: isNamed ? "Describe" : false, run: () => this.element.querySelector("textarea")?.focus() },
      { keys: ["u"], label: "Undo the last change of modes", main: this.groups.length ? "Undo" : false, run: () => this.undo() },
    ];
  }

  /* Dragging. `drop(target)` is a mode's name, or undefined for a new mode. */

  draggable(what) {
    return {
      draggable: "true",
      dragstart: (event) => { this.dragged = what(); event.dataTransfer.setData("text/plain", "mode"); event.stopPropagation(); },
      dragend: () => { this.dragged = null; this.draw(); },
    };
  }
  target(name) {
    const isFit = () => this.dragged && (this.dragged.items ? name !== this.name : name !== undefined && name !== this.dragged.name);
    const over = (event) => {
      if (!isFit()) return;
      event.preventDefault();
      event.currentTarget.classList.add("over");
    };
    return {
      dragenter: over,
      dragover: over,
      dragleave: (event) => { if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.classList.remove("over"); },
      drop: (event) => {
        event.preventDefault();
        if (isFit()) this.drop(this.dragged, name);
      },
    };
  }
  drop({ name, items }, to) {
    const source = this.name;
    inOrder(async () => {
      this.dragged = null;
      if (!items) return this.merge(name, to);
      const target = to ?? (await this.find(`Split: the mode of ${count(items.length, "record")}`, source))?.label;
      return target ? this.move(items, source, target) : undefined;
    });
  }

  /* The page. */

  draw() {
    const { groups, active } = this;
    this.name = active?.name;
    this.place = Math.min(this.place, (active?.examples.length ?? 0) - 1);
    const focused = document.activeElement?.dataset?.key;
    const most = Math.max(STEP, ...this.state.modes.map(({ share }) => share?.high ?? 0));
    const scale = Math.min(1, Math.ceil(most / STEP) * STEP);
    const list = make("ul", { class: "mode-list", "aria-label": "Failure modes" }, groups.map((group) => this.row(group, scale)),
      active ? make("li", { class: "mode fresh", ...this.target(undefined) }, "New mode: drop records here, or choose them and press ", make("kbd", {}, "m")) : null);
    this.element.replaceChildren(...this.heading(), active ? make("div", { class: "modes-split" }, list, this.detail(active)) : "", ...this.ways());
    if (focused) [...this.element.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
    this.redraw();
  }

  heading() {
    const { modes, untagged, read, since_new: since, population } = this.state;
    const sentence = !read ? "No record is read yet." : !modes.length ? "No mode is named yet." : since ? `No new mode in the last ${since === 1 ? "record" : `${since} records`}.` : "The last record brought a new mode.";
    const rows = [population ? `${read} of ${count(population, "trace")} read` : `${read} read`, count(modes.length, "mode"), untagged.length ? `${count(untagged.length, "note")} without a mode` : null];
    return [make("p", { class: "sentence small" }, sentence),
      make("p", { class: "quiet" }, modes.length ? rows.filter(Boolean).join(" · ") : ["Read the records, and press ", make("kbd", {}, "m"), " where something went wrong: the mode that you name appears here, with its share of all traces."])];
  }

  /* Where trajectories first go wrong, as shares of all traces. */
  ways() {
    const tables = [["First wrong step", this.state.steps], ["Last call → first wrong step", this.state.transitions]];
    return tables.filter(([, rows]) => rows?.length).map(([title, rows]) => make("div", { class: "scroll" }, make("table", { class: "compact" }, make("caption", {}, title),
      make("thead", {}, make("tr", {}, ["step", "records", "share [95 %]"].map((name, place) => make("th", { scope: "col", class: place ? "num" : "" }, name)))),
      make("tbody", {}, rows.map(({ name, records, share }) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, name), make("td", { class: "num" }, String(records)),
        make("td", { class: "num" }, share ? `${percent(share.value)} % [${percent(share.low)}, ${percent(share.high)}]` : "–")))))));
  }

  row(group, scale) {
    const isActive = group === this.active;
    const { name, records, share, cost } = group;
    const numbers = share ? [make("span", { class: "num" }, `${percent(share.value)} %`), make("span", { class: "ends" }, `[${percent(share.low)}, ${percent(share.high)}]`)] : [make("span", { class: "num" }, ""), make("span", { class: "ends" }, "")];
    const isNamed = name !== null;
    return make("li", { class: `mode${isActive ? " active" : ""}${isNamed ? "" : " untagged"}`, ...(isNamed ? { ...this.target(name), ...this.draggable(() => ({ name })) } : {}) },
      make("button", { type: "button", class: "pick", "aria-pressed": String(isActive), "aria-current": isActive && this.place < 0 ? "true" : null, "data-key": `mode ${name}`, click: () => inOrder(() => { this.select(name); this.draw(); }), dblclick: () => inOrder(() => this.rename()) },
        make("span", { class: "mode-name", dir: "auto" }, isNamed ? name : "Notes without a mode"), make("span", { class: "quiet" }, count(records, "record")),
        share ? bar(share, scale) : make("span"), ...numbers, make("span", { class: "quiet cost" }, cost === null ? "" : `cost ${cost.toFixed(2)}`)));
  }

  detail(active) {
    const isNamed = active.name !== null;
    const text = make("textarea", { rows: 2, "aria-label": `Description of ${active.name}`, placeholder: "What it is, so that two people would name the same records", "data-own": "yes", maxlength: 2000 });
    text.value = active.description;
    let saved = active.description;
    let timer;
    const save = () => {
      clearTimeout(timer);
      const description = text.value.trim();
      if (description === saved) return;
      saved = description;
      inOrder(() => this.change("describe", { mode: active.name, description }));
    };
    text.addEventListener("change", save);
    text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(save, PAUSE); });
    const isMoving = this.items.length > 0;
    return make("section", { class: "panel mode-detail", "aria-label": isNamed ? active.name : "Notes without a mode" },
      make("h2", { dir: "auto" }, isNamed ? active.name : "Notes without a mode"),
      isNamed ? text : make("p", { class: "quiet" }, "Choose notes that say the same, and give them a mode."),
      make("p", { class: "choices" }, isNamed ? button("Rename", "e", () => this.rename()) : null, isNamed || isMoving ? button(isMoving ? `Move ${count(this.items.length, "record")}` : "Merge", "m", () => this.mergeOrMove()) : null),
      make("ol", { class: "mode-records", "aria-label": "Records" }, active.examples.map((example, place) => this.example(example, place))));
  }

  example({ item, id, note, grade, text }, place) {
    const isActive = place === this.place;
    const isChosen = this.chosen.has(item);
    return make("li", { class: isActive ? "active" : "", "aria-current": isActive ? "true" : null, ...this.draggable(() => ({ items: isChosen ? this.items : [item] })) },
      make("input", { type: "checkbox", "aria-label": `Choose ${id}`, checked: isChosen, "data-key": `choose ${item}`, click: () => this.toggle(item) }),
      make("div", {}, make("button", { type: "button", class: "link", "data-key": `open ${item}`, click: () => inOrder(() => this.open(item)) }, String(id)), grade ? make("span", { class: "tag" }, `grade ${grade}`) : null,
        note ? make("p", { dir: "auto" }, note) : null, text ? make("p", { class: "quiet excerpt", dir: "auto" }, text) : null));
  }
}

/* A share with its interval, on an axis from 0 to `scale`. */
function bar({ value, low, high }, scale) {
  const at = (share) => 200 * share / scale;
  const svg = shape("svg", { class: "gap share", viewBox: "0 0 208 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(shape("rect", { class: "track", x: 0, y: 6, width: 208, height: 4, rx: 2 }), shape("rect", { class: "ends", x: at(low), y: 2, width: Math.max(1, at(high) - at(low)), height: 12, rx: 2 }), shape("rect", { class: "point", x: at(value), y: 0, width: 3, height: 16 }));
  return svg;
}
