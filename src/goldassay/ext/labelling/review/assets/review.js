/* The page: one record at a time. A task module shows a record and edits its value; this module holds the value, its
   history, the keys, and the way from record to record. */

import "./steps.js"; /* the report's */
import { byId, button, make, plain, same, shut, startTheme, tags, toggleTheme } from "./dom.js";
import { find, matching } from "./finder.js";
import { Keys, sign } from "./keys.js";
import { Modes, pickModes } from "./modes.js";
import { Panel } from "./panel.js";
import { rules } from "./rules.js";
import { inOrder, onFailure } from "./sequence.js";
import { Refusal, Server } from "./server.js";
import * as answering from "./tasks/answering.js";
import * as classification from "./tasks/classification.js";
import * as compare from "./tasks/compare.js";
import * as extraction from "./tasks/extraction.js";
import * as linking from "./tasks/linking.js";
import * as own from "./tasks/own.js";
import * as records from "./tasks/records.js";
import * as retrieval from "./tasks/retrieval.js";
import * as trajectories from "./tasks/trajectories.js";
import * as triples from "./tasks/triples.js";

const TASKS = { answering, classification, extraction, linking, records, retrieval, trajectories, triples };
const views = globalThis.stepViews(make);
const POLL = 4000;
const SOON = 500; /* until the verdict is asked for again that does not have the last decision yet */
const root = document.documentElement;

const server = new Server((waiting, why) => say(waiting ? `${why ?? "The server does not answer"}. Nothing is lost; trying again …` : "", waiting));
const keys = new Keys(bindings);
let setup = null;
let panel = null;
let modes = null;
let isStale = false; /* modes changed since the record was fetched */
let refreshing = null; /* when progress is asked for next */
let current = { item: null, context: null };
const unfinished = new Map(); /* what was edited and left without a decision */

function say(text, isBad = false) {
  const message = byId("message");
  message.textContent = text;
  message.classList.toggle("bad", isBad);
}

function fail(error) {
  root.dataset.state = "ready";
  say(error.message, true);
  if (!(error instanceof Refusal)) throw error;
}

/* What a task module works with. `change` is a step that u takes back. */
class Context {
  constructor(record) {
    this.record = record;
    this.setup = setup;
    this.find = find;
    this.say = say;
    this.server = server;
    this.decide = decide;
    this.history = [];
    this.choice = null;
    this.started = performance.now();
    this.task = TASKS[setup.task] ?? own;
    const isChoice = record.suggestions.length > 1 && (setup.mode === "compare" || record.visit === "conflict");
    this.editor = isChoice ? compare : this.task;
    this.initial = isChoice ? null : this.editor.start(this);
    this.restore(record.decision);
  }

  /* What was decided before. A side that was chosen as it is comes back as the choice. */
  restore(decision) {
    const isSide = this.editor === compare && this.record.suggestions.some((side) => same(side.value, decision?.value));
    this.value = isSide ? null : decision?.value ?? this.initial;
    this.modes = new Set(decision?.modes ?? []);
    this.grade = decision?.grade ?? null;
    this.step = decision?.step ?? null;
    if (this.value !== null && /^\d$/.test(decision?.choice ?? "")) this.choice = decision.choice;
  }

  /* The steps of the answers: of two that are compared side by side from where they part. */
  get steps() {
    if (this.stepsBox !== undefined) return this.stepsBox;
    const sides = this.record.suggestions.filter((side) => side.steps);
    const names = sides.map((side, place) => side.system ?? (sides.length === 2 ? ["Left", "Right"][place] : `Answer ${place + 1}`));
    const isPair = sides.length === 2 && this.editor === compare;
    const trees = isPair ? views.sideBySide(sides.map((side, place) => ({ name: names[place], steps: side.steps, wrong: null })))
      : sides.map((side, place) => views.tree(side.steps, { label: sides.length > 1 ? `Steps of ${names[place]}` : "Steps" }));
    this.stepsBox = sides.length ? make("div", {}, trees) : null;
    return this.stepsBox;
  }
  get isMarkable() {
    return this.editor !== compare && Boolean(this.record.suggestions[0]?.steps);
  }
  markStep() {
    const step = views.current(this.steps.firstChild);
    if (!step) return say("Choose a step of the first answer: . and , or a click.", true);
    const index = Number(step.dataset.step);
    this.step = this.step === index ? null : index;
    return this.update();
  }

  /* Whether a failure was named, and the answer of the one system was not corrected. */
  get isFailure() {
    return setup.question === "errors" && (this.modes.size > 0 || this.step !== null) && this.record.suggestions.length === 1 && same(this.value, this.initial);
  }

  /* Suggestions with the letters that take them: a, b, c, d. */
  get systems() {
    return this.record.suggestions.slice(0, 4).map((suggestion, place) => ({ ...suggestion, letter: "abcd"[place], name: suggestion.system ?? `Suggestion ${"ABCD"[place]}` }));
  }

  change(value) {
    if (same(value, this.value)) return;
    this.history.push(this.value);
    this.value = value;
    this.update();
  }

  back() {
    if (!this.history.length) return false;
    this.value = this.history.pop();
    this.update();
    return true;
  }

  update() {
    this.view.update();
    if (this.isMarkable) views.mark(this.steps.firstChild, this.step);
    say("");
    drawNamed();
    drawKeys();
  }
}

/* From record to record. */

async function open(item, undone = null) {
  showTab("record");
  if (current.context?.history.length) unfinished.set(current.item, current.context);
  isStale = false;
  const record = await server.record(item);
  const restored = undone ? undefined : unfinished.get(item);
  const context = restored ?? new Context(record);
  unfinished.delete(item);
  if (undone) context.restore(undone);
  context.started = performance.now();
  current = { item, context };
  if (!restored) context.view = context.editor.edit(context);
  byId("record").replaceChildren(heading(record), context.view.body, context.steps ?? "");
  byId("record").scrollTop = 0;
  byId("note").value = record.decision?.note ?? "";
  document.activeElement?.blur();
  context.view.update();
  if (context.isMarkable) views.mark(context.steps.firstChild, context.step);
  drawKeys();
  drawNamed();
  context.view.opened?.();
  root.dataset.item = item;
  root.dataset.state = "ready";
}

function heading(record) {
  const place = setup.index.findIndex(([item]) => item === record.item);
  const chips = [
    record.blind && "without suggestions, to measure their pull",
    record.visit === "conflict" && "reviewers disagree",
    record.decision && `decided: ${record.decision.kind}`,
  ].filter(Boolean);
  return make("p", { class: "where" }, make("button", { type: "button", class: "link", click: () => inOrder(go), title: "Go to an id (g)" }, record.id),
    place >= 0 ? make("span", { class: "quiet" }, `${place + 1} of ${setup.index.length}`) : null,
    tags(record, current.context.task.ownFields), chips.map((chip) => make("span", { class: "tag strong" }, chip)));
}

function step(by) {
  const index = setup.index.map(([item]) => item);
  const place = index.indexOf(current.item.split(":")[0]);
  const target = index[place + by];
  if (target !== undefined) return open(target);
  return by > 0 ? follow(setup.next) : say("This is the first record.");
}

async function go() {
  const options = setup.index.map(([item, id], place) => ({ label: String(id), description: `${place + 1}`, item }));
  const option = await find({ title: "Go to the record", search: (query) => matching(options, query) });
  if (option) await open(option.item);
}

function follow(next) {
  setup.next = next;
  if (!next.length) return finished();
  const opening = open(next[0]);
  server.load(next).catch(fail);
  return opening;
}

function finished() {
  current = { item: "", context: null };
  const isAll = !setup.progress.left && !setup.progress.conflicts;
  byId("record").replaceChildren(make("div", { class: "finished" }, make("h2", {}, isAll ? "Every record is decided." : "Other people have the rest."),
    make("p", {}, isAll ? "Write the gold from here, or at any time from the command line." : "What they leave comes here by itself."),
    make("p", {}, button("Write gold.jsonl", null, () => panel.export())),
    isAll && setup.then?.length ? [make("p", {}, "What comes next, in a terminal:"), make("pre", {}, setup.then.join("\n"))] : null));
  drawKeys();
  drawNamed();
  root.dataset.item = "";
  root.dataset.state = "finished";
}

/* Decisions. */

async function decide(kind, more = {}) {
  const { context, item } = current;
  if (!context) return;
  const note = byId("note").value.trim() || null;
  let value = null;
  if (kind === "label") {
    if (context.isFailure && !("value" in more)) more = { good: false, value: null };
    value = "value" in more ? more.value : context.value;
    const isOpen = value === null && !(more.choice ?? context.choice) && more.good === undefined;
    const problem = isOpen ? "Choose first." : value === null ? null : context.task.check(value, context);
    if (problem) return say(problem, true);
  }
  const about = { value, choice: more.choice ?? context.choice, good: more.good ?? null, note, modes: [...context.modes], ...(context.grade ? { grade: context.grade } : {}), ...(context.step === null ? {} : { step: context.step }) };
  const before = context.record.decision;
  if (kind === "label" && before?.kind === "label" && Object.keys({ ...about, grade: 0, step: 0 }).every((name) => same(before[name] ?? null, about[name] ?? null))) return step(1);
  const decision = { item, kind, ...about, seconds: Math.round(performance.now() - context.started) / 1000, undoes: null };
  root.dataset.state = "saving";
  const answer = await server.decide(decision);
  context.record.decision = decision;
  context.history = [];
  receive(answer);
  if (answer.judge) say(`The judge says ${plain(answer.judge.verdict)}${answer.judge.agrees ? ", as you do" : ", unlike you"}.`);
  await follow(answer.next);
}

async function undo() {
  if (current.context?.back()) return;
  root.dataset.state = "saving";
  const answer = await server.decide({ item: current.item, kind: "undo", value: null, choice: null, good: null, note: null, modes: [], seconds: 0, undoes: null });
  const record = await server.record(answer.item);
  record.decision = null;
  receive(answer);
  setup.next = answer.next;
  current.context = null;
  await open(answer.item, answer.undone);
  if (answer.undone?.note) byId("note").value = answer.undone.note;
  say(`Taken back: ${record.id}`);
}

function receive(answer) {
  const { progress } = answer;
  const at = Date.now() + (progress.stale ? SOON : POLL);
  setup.progress = progress;
  panel.draw(progress);
  if (refreshing && refreshing.at <= at) return;
  clearTimeout(refreshing?.timer);
  refreshing = { at, timer: setTimeout(refresh, at - Date.now()) };
}

async function refresh() {
  if (server.ended) return;
  const progress = document.visibilityState === "visible" ? await server.ask("progress").catch(() => null) : null;
  const isOlder = progress && progress.revision < setup.progress.revision; /* a decision came meanwhile */
  if (progress && !isOlder && progress.revision !== setup.progress.revision) await modes.follow(); /* somebody else named or changed modes */
  refreshing = null;
  receive({ progress: isOlder || !progress ? { ...setup.progress, stale: isOlder } : progress });
  if (progress && root.dataset.state === "finished" && root.dataset.tab !== "modes" && progress.left + progress.conflicts) inOrder(async () => {
    const { next } = await server.ask("setup");
    if (next.length) await follow(next);
  });
}

/* What went wrong with the record: modes, and how bad it is. */
async function nameModes() {
  await pickModes(setup, current.context);
  drawNamed();
  drawKeys();
}

function drawNamed() {
  const { context } = current;
  const named = context ? [...context.modes].map((name) => make("span", { class: "tag strong", dir: "auto" }, name)) : [];
  byId("named").replaceChildren(...(context ? [button("Mode", "m", nameModes)] : []), ...named, context && context.step !== null ? make("span", { class: "tag strong", dir: "auto" }, `wrong from: ${context.record.suggestions[0].steps[context.step]?.name ?? "the end"}`) : "", context?.grade ? make("span", { class: "tag" }, `grade ${context.grade}`) : "");
}

/* The two tabs: the record, and the modes of all records. */
function showTab(name) {
  root.dataset.tab = name;
  for (const tab of byId("tabs").children) {
    const isOpen = tab.id === `tab-${name}`;
    tab.ariaSelected = String(isOpen);
    tab.tabIndex = isOpen ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !isOpen;
  }
}
async function switchTab(name = root.dataset.tab === "modes" ? "record" : "modes") {
  showTab(name);
  say("");
  if (name === "modes") await modes.show();
  else if (isStale && current.context?.record.decision && !current.context.history.length) await open(current.item);
  drawKeys();
}

/* Modes have other names, or other records: what was fetched has the old ones, and what is not decided yet may name one. */
function modesChanged(from = null, to = null) {
  server.records.clear();
  isStale = true;
  for (const context of [current.context, ...unfinished.values()]) {
    if (context?.modes.delete(from)) context.modes.add(to);
  }
  drawNamed();
}

/* Keys and buttons: the same list makes the toolbar, the keys and their help. */

const isEnter = (binding) => binding.keys.includes("Enter");

function common() {
  const isModes = root.dataset.tab === "modes";
  const context = isModes ? null : current.context;
  const shown = context?.record.suggestions.length ? context.record.suggestions[0] : null;
  const isPlain = setup.mode === "label" && shown;
  const onRecord = context ? [
    { keys: ["Enter", "Alt+Enter"], label: context.isFailure ? "Wrong" : "Accept", main: true, run: () => decide("label") },
    { keys: ["s"], label: "Skip", main: true, run: () => decide("skip") },
    { keys: ["x"], label: "Unsure", main: true, run: () => decide("unsure") },
    ...(isPlain ? [
      { keys: ["+"], label: "Good", main: context.task === own, run: () => decide("label", { good: true, value: shown.value }) },
      { keys: ["-"], label: "Bad", main: context.task === own, run: () => decide("label", { good: false, value: null }) },
    ] : []),
    { keys: ["n"], label: "Write a note", run: () => byId("note").focus() },
    { keys: ["m"], label: "Name what went wrong: modes, and a grade", run: nameModes },
    ...(context.steps ? [
      { keys: ["."], label: "Next step", run: () => views.move(context.steps, 1) },
      { keys: [","], label: "Previous step", run: () => views.move(context.steps, -1) },
      { keys: ["l"], label: "Look into the step", run: () => views.look(context.steps) },
    ] : []),
    ...(context.isMarkable ? [{ keys: ["h"], label: "Here it first goes wrong: the modes belong to this step", main: "Wrong from here", run: () => context.markStep() }] : []),
  ] : [];
  const inQueue = [
    { keys: ["u"], label: "Undo", main: true, run: undo },
    { keys: ["k"], label: "Back", main: true, run: () => step(-1) },
    { keys: ["j"], label: "Next", main: true, run: () => step(1) },
  ];
  return [
    ...onRecord,
    ...(isModes ? [] : inQueue),
    { keys: ["g"], label: "Go to an id", run: go },
    { keys: ["f"], label: isModes ? "Back to the record" : "Failure modes: what goes wrong, and how often", main: isModes ? "Records" : false, run: () => switchTab() },
    { keys: ["r"], label: "Guidelines", run: () => rules(server, setup, current.context?.record.id ?? null) },
    { keys: ["p"], label: "Progress and verdict", run: () => panel.toggle() },
    { keys: ["t"], label: "Light or dark", run: toggleTheme },
    { keys: ["?"], label: "Keys of this task", run: showKeys },
  ];
}

/* Asked for at every key, since some depend on what is active. The task's own keys come first. */
function bindings() {
  const own = root.dataset.tab === "modes" ? modes.keys() : current.context?.view.keys() ?? [];
  return [...own, ...common()];
}

function drawKeys() {
  const main = bindings().filter((each) => each.main).toSorted((a, b) => isEnter(b) - isEnter(a));
  byId("actions").replaceChildren(...main.map((each) => button(each.main === true ? each.label : each.main, sign(each.keys[0]), () => each.run(each.keys[0]))));
}

function showKeys() {
  const dialog = byId("keys");
  const rows = bindings().map((each) => make("tr", {}, make("td", {}, each.keys.filter((key) => key !== "Alt+Enter").map((key) => make("kbd", {}, sign(key)))), make("td", {}, each.label)));
  dialog.replaceChildren(make("h2", { id: "keys-title" }, "Keys"),
    make("div", { class: "keys-list", tabindex: "0", role: "region", "aria-label": "List of keys" }, make("table", {}, make("caption", { class: "spoken" }, "Keys of this task"), make("tbody", {}, rows))),
    button("Close", "Esc", () => shut(dialog), { autofocus: true }));
  dialog.showModal();
}

/* Start. */

async function start() {
  onFailure(fail);
  startTheme();
  byId("theme").addEventListener("click", toggleTheme);
  byId("open-keys").addEventListener("click", showKeys);
  setup = await server.ask("setup");
  server.who ??= setup.reviewer;
  document.title = `${setup.title} – goldassay`;
  byId("title").textContent = setup.title;
  panel = new Panel(server, setup, say);
  modes = new Modes(server, setup, { say, open, changed: modesChanged, redraw: drawKeys });
  for (const tab of byId("tabs").children) {
    tab.addEventListener("click", () => inOrder(() => switchTab(tab.id.slice(4))));
    tab.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      event.stopPropagation();
      const other = tab.nextElementSibling ?? tab.previousElementSibling;
      other.focus();
      other.click();
    });
  }
  byId("open-panel").addEventListener("click", () => panel.toggle());
  byId("open-rules").addEventListener("click", () => rules(server, setup, current.context?.record.id ?? null));
  byId("note").addEventListener("keydown", (event) => { if (event.key === "Enter") say("The note goes with the decision."); });
  receive(setup);
  await follow(setup.next);
}

start().catch(fail);
