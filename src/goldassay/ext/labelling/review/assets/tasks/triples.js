/* Triples: subject, predicate and object, picked from the text; statements of systems are taken or refused. */

import { button, count, facts, make, offers, plain, same } from "../dom.js";
import { matching } from "../finder.js";
import { TextView, textKeys } from "../text.js";

export const ownFields = ["text"];
const PARTS = ["subject", "predicate", "object"];

const triplesOf = (value) => value?.triples ?? [];
const isSame = (a, b) => PARTS.every((part) => same(a[part], b[part]));
const isWhole = (triple) => PARTS.every((part) => plain(triple[part]).trim());
const words = (part) => (part && typeof part === "object" ? plain(part.label ?? part.value ?? part.text ?? part) : plain(part));

export function start({ record }) {
  const values = record.suggestions.map((suggestion) => triplesOf(suggestion.value));
  return { triples: (values[0] ?? []).filter((triple) => values.every((triples) => triples.some((other) => isSame(triple, other)))) };
}
export const check = (value) => (triplesOf(value).every(isWhole) ? null : "A statement lacks a part: 1 subject, 2 predicate, 3 object; ⌫ deletes it.");

export function show(value) {
  return make("table", {}, make("caption", { class: "spoken" }, "Statements"), make("tbody", {}, triplesOf(value).map((triple) => make("tr", {}, PARTS.map((part) => make("td", { dir: "auto" }, words(triple[part])))))));
}

export function edit(context) {
  const { record, setup } = context;
  const text = String(record.fields.text ?? "");
  const view = new TextView(text);
  const table = make("table", { class: "triples" });
  const body = make("div", { class: "editor" }, view.element, make("div", { class: "scroll" }, table), offers(context, (value) => count(triplesOf(value).length, "statement")), facts(record, ownFields));
  let active = null; /* the statement itself */
  const refused = [];

  const triples = () => triplesOf(context.value);
  const has = (list, triple) => list.some((other) => isSame(other, triple));
  const write = (list) => context.change({ ...context.value, triples: list });
  function rows() {
    const suggested = context.systems.flatMap((system) => triplesOf(system.value));
    const open = suggested.filter((triple, place) => !has(triples(), triple) && !has(refused, triple) && suggested.findIndex((other) => isSame(other, triple)) === place);
    return [...triples(), ...open];
  }

  function step(by) {
    const all = rows();
    if (!all.length) return context.say("There is no statement.");
    const place = all.findIndex((triple) => active && isSame(triple, active));
    active = all[(Math.max(place, by > 0 ? -1 : 0) + by + all.length) % all.length];
    return update();
  }
  function create() {
    const empty = { subject: "", predicate: "", object: "" };
    active = empty;
    return has(triples(), empty) ? update() : write([...triples(), empty]);
  }
  /* A part of the active statement becomes these words; without one a new statement begins. */
  function fill(part, value) {
    if (!active) create();
    const before = active;
    const after = { ...before, [part]: value };
    const isNew = !isWhole(before);
    refused.push(before);
    active = isNew && isWhole(after) ? null : after; /* what is complete is left: the next words begin another one */
    write(has(triples(), before) ? triples().map((triple) => (isSame(triple, before) ? after : triple)) : [...triples(), after]);
  }
  async function type(part) {
    const names = part === "predicate" ? setup.predicates : [];
    const option = await context.find({ title: `The ${part}`, search: (query) => matching(names.map((label) => ({ label })), query), free: (label) => ({ label, description: "as typed" }) });
    if (option) fill(part, option.label);
  }
  function pick(part) {
    const { selection } = view;
    if (!selection) return type(part);
    view.clear();
    return fill(part, selection.text);
  }
  function toggle() {
    if (!active) return context.say("Choose a statement first: ↓ or a click.", true);
    return has(triples(), active) ? write(triples().filter((triple) => !isSame(triple, active))) : write([...triples(), active]);
  }
  function remove() {
    if (!active) return context.say("Choose a statement first: ↓ or a click.", true);
    refused.push(active);
    const rest = triples().filter((triple) => !isSame(triple, active));
    active = null;
    return rest.length < triples().length ? write(rest) : update();
  }
  function cell(triple, part, place) {
    return make("td", {}, button(make("span", { class: `part c${place}`, dir: "auto" }, words(triple[part]) || "–"), null, () => { active = triple; return pick(part); }, { class: "pick", "aria-label": `${part}: ${words(triple[part]) || "empty"}` }));
  }
  function update() {
    if (active && !has(rows(), active)) active = null;
    table.replaceChildren(make("caption", { class: "spoken" }, "Statements"),
      make("thead", {}, make("tr", {}, [...PARTS, "decision"].map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows().map((triple) => {
        const taken = has(triples(), triple);
        const by = context.systems.filter((system) => has(triplesOf(system.value), triple));
        return make("tr", { class: `${taken ? "" : "proposal"}${active && isSame(active, triple) ? " active" : ""}`, click: () => { active = triple; update(); } },
          PARTS.map((part, place) => cell(triple, part, place)),
          make("td", {}, button(taken ? "Delete" : "Take", null, () => { active = triple; return taken ? remove() : toggle(); }, { class: "small" }), by.map((system) => make("span", { class: "by" }, system.letter))));
      })));
    const marks = active ? PARTS.map((part, place) => ({ part, place, at: text.indexOf(words(active[part])) })).filter(({ part, at }) => words(active[part]) && at >= 0) : [];
    view.draw(marks.map(({ part, place, at }) => ({ start: view.outside(at), end: view.outside(at + words(active[part]).length), kind: `c${place}`, label: part })));
  }
  const keys = () => [
    { keys: ["1"], label: "The words are the subject", run: () => pick("subject") },
    { keys: ["2"], label: "The words are the predicate; without words, choose one", run: () => pick("predicate") },
    { keys: ["3"], label: "The words are the object", run: () => pick("object") },
    { keys: ["i"], label: "New statement", main: true, run: create },
    ...textKeys(view, context),
    { keys: ["ArrowDown"], label: "Next statement", run: () => step(1) },
    { keys: ["ArrowUp"], label: "Previous statement", run: () => step(-1) },
    { keys: [" "], label: "Take the statement, or give it back", run: toggle },
    { keys: ["Backspace", "Delete", "d"], label: "Delete the statement", run: remove },
    ...context.systems.map((system) => ({ keys: [system.letter], label: `Take all statements of ${system.name}`, run: () => write(triplesOf(system.value)) })),
  ];
  return { body, update, keys };
}
