/* Extraction: spans with types. Select words, then the key of a type; a span that is active can be changed. */

import { button, count, facts, make, offers, same } from "../dom.js";
import { matching } from "../finder.js";
import { choiceKeys } from "../keys.js";
import { TextView, textKeys } from "../text.js";

const COLOURS = 7;
export const ownFields = ["text"];
export const isSame = (a, b) => a.start === b.start && a.end === b.end && a.type === b.type;
const sorted = (entities) => entities.toSorted((a, b) => a.start - b.start || a.end - b.end);
export const spansOf = (value) => (value?.entities ?? []).filter((span) => Number.isInteger(span.start));

/* The types of the task, and those that suggestions have besides. */
export const typesOf = ({ setup, record }) => [...new Set([...setup.types, ...record.suggestions.flatMap((suggestion) => spansOf(suggestion.value).map((span) => span.type))])];
export const kind = (types, type) => `c${types.indexOf(type) % COLOURS}`;

/* The spans that all systems found. */
export function start({ record }) {
  const values = record.suggestions.map((suggestion) => spansOf(suggestion.value));
  const common = (values[0] ?? []).filter((span) => values.every((spans) => spans.some((other) => isSame(span, other))));
  return { entities: sorted(common) };
}

export const check = () => null;

export function show(value, context) {
  const types = typesOf(context);
  const view = new TextView(String(context.record.fields.text ?? ""));
  view.draw(spansOf(value).map((span) => ({ ...span, kind: kind(types, span.type), label: span.type })));
  return view.element;
}

const ENDS = [["⇤", -1, true], ["⇥", 1, true], ["←", -1, false], ["→", 1, false]];

export function edit(context) {
  const { record } = context;
  let types = typesOf(context);
  let shortcuts = choiceKeys(types);
  const view = new TextView(String(record.fields.text ?? ""), { onPick: (item) => activate(item), onSelect: () => { active = null; update(); }, onStretch: () => moved() });
  const chips = make("div", { class: "choices", role: "group", "aria-label": "Types" });
  const list = make("ul", { class: "items", "aria-label": "Spans" });
  const body = make("div", { class: "editor" }, view.element, chips, list, offers(context, (value) => count(spansOf(value).length, "span")), facts(record, ownFields));
  let active = null;
  const refused = []; /* spans of systems that the reviewer changed or deleted */

  const spans = () => spansOf(context.value);
  const isTaken = (span) => spans().some((other) => isSame(other, span));

  /* Spans of systems that are neither taken nor refused, each once. */
  function proposals() {
    const all = context.systems.flatMap((system) => spansOf(system.value));
    return all.filter((span, place) => !isTaken(span) && !refused.some((other) => isSame(other, span)) && all.findIndex((other) => isSame(other, span)) === place);
  }
  const items = () => sorted([...spans(), ...proposals()]);
  const write = (entities) => context.change({ ...context.value, entities: sorted(entities) });

  function activate(span) {
    active = span;
    if (span) view.select(span.start, span.end);
    update();
  }
  function step(by) {
    const all = items();
    if (!all.length) return context.say("There is no span.");
    const place = all.findIndex((span) => active && isSame(span, active));
    const at = view.selection?.start ?? -1;
    const near = by > 0 ? all.findIndex((span) => span.start >= at) : all.findLastIndex((span) => span.end <= at);
    const next = place >= 0 ? place + by : near;
    return activate(all[(next + all.length) % all.length]);
  }

  async function chooseOther() {
    const option = await context.find({ title: "Type", search: (query) => matching(types.map((type) => ({ label: type })), query), free: (label) => ({ label, description: "a new type" }) });
    if (!option) return;
    context.setup.types = [...new Set([...context.setup.types, option.label])];
    choose(option.label);
  }
  /* The active span, or the selection, has this type now. */
  function choose(type) {
    const range = active ?? view.selection;
    if (!range) return context.say("Select words first: with the mouse, or → and ⇧ →.", true);
    const span = { ...range, type };
    if (active) return replace(active, span);
    active = span;
    return isTaken(span) ? update() : write([...spans(), span]);
  }
  /* The active span, changed. */
  function replace(before, after) {
    refused.push(before);
    active = after;
    const others = spans().filter((span) => !isSame(span, before) && !isSame(span, after));
    return write([...others, after]);
  }
  function toggle() {
    if (!active) return context.say("Choose a span first: ↓ or a click.", true);
    return isTaken(active) ? write(spans().filter((span) => !isSame(span, active))) : write([...spans(), active]);
  }
  function remove() {
    if (!active) return context.say("Choose a span first: ↓ or a click.", true);
    const all = items();
    const next = all[all.findIndex((span) => isSame(span, active)) + 1] ?? null;
    const rest = spans().filter((span) => !isSame(span, active));
    refused.push(active);
    active = next;
    if (next) view.select(next.start, next.end);
    return rest.length < spans().length ? write(rest) : update();
  }
  /* An end of the active span moved. */
  function moved() {
    if (!active || !view.selection) return;
    replace(active, { ...active, ...view.selection });
  }

  function row(span) {
    const isActive = active !== null && isSame(span, active);
    const taken = isTaken(span);
    const by = context.systems.filter((system) => spansOf(system.value).some((other) => isSame(other, span)));
    return make("li", { class: `${taken ? "" : "proposal"}${isActive ? " active" : ""}` },
      make("button", { type: "button", class: "pick", click: () => activate(span), "aria-pressed": String(isActive) }, make("mark", { class: kind(types, span.type) }, span.type), make("bdi", {}, ` ${span.text ?? ""}`), by.map((system) => make("span", { class: "by" }, system.letter))),
      taken && isActive ? ENDS.map(([label, step, isStart]) => button(label, null, () => { if (view.stretch(step, isStart)) moved(); }, { class: "small", "aria-label": `${isStart ? "Beginning" : "End"} ${step > 0 ? "on" : "back"} by a word` })) : null,
      taken ? button("Delete", null, () => { active = span; remove(); }, { class: "small" }) : button("Take", null, () => { active = span; toggle(); }, { class: "small" }));
  }
  function update() {
    types = typesOf(context);
    shortcuts = choiceKeys(types);
    if (active && !items().some((span) => isSame(span, active))) active = null;
    const marks = [...proposals().map((span) => ({ span, style: "proposal " })), ...spans().map((span) => ({ span, style: "" }))];
    view.draw(marks.map(({ span, style }) => ({ start: span.start, end: span.end, kind: `${style}${kind(types, span.type)}`, label: `${span.type}${style ? "?" : ""}`, active: active !== null && isSame(span, active), item: span })));
    chips.replaceChildren(...types.map((type, place) => button(make("mark", { class: kind(types, type) }, type), shortcuts[place], () => choose(type), { "aria-pressed": String(active?.type === type), class: "choice" })), button("Another type", "o", chooseOther, { class: "choice" }));
    const all = items();
    list.replaceChildren(...all.map(row));
    list.hidden = !all.length;
    list.querySelector(".active")?.scrollIntoView({ block: "nearest" });
  }
  const keys = () => [
    ...types.map((type, place) => ({ keys: [shortcuts[place]].filter(Boolean), label: `The words are ${type}`, run: () => choose(type) })).filter((each) => each.keys.length),
    { keys: ["o"], label: "Another type, also a new one", run: chooseOther },
    ...textKeys(view, context, { moved, before: () => { if (active) { active = null; update(); } } }),
    { keys: ["ArrowDown"], label: "Next span", run: () => step(1) },
    { keys: ["ArrowUp"], label: "Previous span", run: () => step(-1) },
    { keys: [" "], label: "Take the span of a system, or give it back", run: toggle },
    { keys: ["Backspace", "Delete", "d"], label: "Delete the span, and go to the next", run: remove },
    ...context.systems.map((system) => ({ keys: [system.letter], label: `Take all spans of ${system.name}`, run: () => context.change({ ...context.value, entities: sorted(spansOf(system.value)) }) })),
  ];
  return { body, update, keys, opened: () => { view.range = null; if (same(spans(), [])) getSelection().removeAllRanges(); } };
}
