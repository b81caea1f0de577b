/* Linking: which entry of the knowledge base a mention means, or none (NIL). */

import { button, count, facts, make, offers } from "../dom.js";
import { TextView, textKeys } from "../text.js";

export const ownFields = ["text"];
const linksOf = (value) => value?.links ?? [];
const isPlace = (a, b) => a.start === b.start && a.end === b.end;
const idsOf = (link) => Object.values(link.ids ?? {}).flat();
const isId = (a, b) => idsOf(a).join() === idsOf(b).join();
const sorted = (links) => links.toSorted((a, b) => a.start - b.start || a.end - b.end);

/* Mentions on which all systems agree; the others are still to be decided. */
export function start({ record }) {
  const values = record.suggestions.map((suggestion) => linksOf(suggestion.value));
  return { links: (values[0] ?? []).filter((link) => values.every((links) => links.some((other) => isPlace(link, other) && isId(link, other)))) };
}

/* Mentions that every system has, each with another entry. */
function disputed({ record, value }) {
  const values = record.suggestions.map((suggestion) => linksOf(suggestion.value));
  return (values[0] ?? []).filter((link) => values.every((links) => links.some((other) => isPlace(link, other))) && !linksOf(value).some((other) => isPlace(link, other)));
}
export function check(value, context) {
  const open = disputed({ record: context.record, value }).filter((link) => !context.refused?.some((other) => isPlace(other, link)));
  return open.length ? `Not decided: ${open.map((link) => link.text).join(", ")}. ↓ goes there; ⌫ refuses the mention.` : null;
}

export function show(value, context) {
  const view = new TextView(String(context.record.fields.text ?? ""));
  view.draw(linksOf(value).map((link) => ({ ...link, kind: idsOf(link).length ? "c0" : "c6", label: idsOf(link).join(" ") || "NIL" })));
  return view.element;
}

export function edit(context) {
  const { record } = context;
  const view = new TextView(String(record.fields.text ?? ""), { onPick: (item) => activate(item), onSelect: () => { active = null; update(); }, onStretch: () => moved() });
  const choices = make("ol", { class: "candidates", "aria-label": "Candidates" });
  const title = make("p", { class: "mention" });
  const body = make("div", { class: "editor" }, view.element, title, choices, offers(context, (value) => count(linksOf(value).length, "link")), facts(record, ownFields));
  const entries = new Map(); /* what is known of an id: label, description, ids */
  let active = null;
  context.refused ??= [];

  const suggestedLinks = record.suggestions.flatMap((suggestion) => suggestion.output?.links ?? []);
  for (const link of suggestedLinks) for (const candidate of link.candidates ?? []) entries.set(String(candidate.id), candidate);
  const links = () => linksOf(context.value);
  const at = (list, link) => list.find((other) => isPlace(other, link));
  const write = (list) => context.change({ ...context.value, links: sorted(list) });
  const proposals = () => context.systems.flatMap((system) => linksOf(system.value)).filter((link, place, all) => !at(links(), link) && !at(context.refused, link) && all.findIndex((other) => isPlace(other, link)) === place);
  const mentions = () => sorted([...links(), ...proposals()]);

  /* The candidates of all systems for a mention, the current entry first if no system has it. */
  function candidates(link) {
    const ids = suggestedLinks.filter((other) => isPlace(other, link)).flatMap((other) => (other.candidates ?? []).map((candidate) => String(candidate.id)));
    const answers = context.systems.flatMap((system) => linksOf(system.value)).filter((other) => isPlace(other, link)).flatMap(idsOf);
    return [...new Set([...idsOf(at(links(), link) ?? {}), ...ids, ...answers])].slice(0, 9);
  }
  function activate(link) {
    active = link;
    if (link) view.select(link.start, link.end);
    update();
  }
  function step(by) {
    const all = mentions();
    if (!all.length) return context.say("There is no mention.");
    const place = all.findIndex((link) => active && isPlace(link, active));
    return activate(all[(Math.max(place, by > 0 ? -1 : 0) + by + all.length) % all.length]);
  }
  /* The active mention means this entry; then comes the next mention. */
  function link(id) {
    if (!active) return context.say("Choose a mention first: ↓ or a click.", true);
    const ids = id === null ? {} : entries.get(id)?.ids ?? context.systems.flatMap((system) => linksOf(system.value)).find((other) => idsOf(other).includes(id))?.ids ?? { wikidata: [id] };
    const { start: from, end, text } = active;
    const changed = { ...at(links(), active), start: from, end, text, ids };
    const all = mentions();
    const place = all.findIndex((each) => isPlace(each, active));
    const next = place < 0 ? null : all[place + 1];
    write([...links().filter((each) => !isPlace(each, active)), changed]);
    return activate(next ?? changed);
  }
  async function search() {
    if (!active && view.selection) active = { ...view.selection, ids: {} };
    if (!active) return context.say("Choose a mention first, or select its words.", true);
    const asked = async (query) => {
      const { results } = await context.server.ask(`search?q=${encodeURIComponent(query || active.text)}`);
      for (const entry of results) entries.set(String(entry.id), entry);
      return results.map((entry) => ({ label: entry.label ?? entry.id, description: [entry.id, entry.description].filter(Boolean).join(" · "), id: String(entry.id) }));
    };
    const option = await context.find({ title: `Entry for ${active.text}`, search: asked, free: (label) => ({ label, description: "this identifier", id: label }) });
    return option ? link(option.id) : undefined;
  }
  function remove() {
    if (!active) return context.say("Choose a mention first: ↓ or a click.", true);
    context.refused.push(active);
    const rest = links().filter((each) => !isPlace(each, active));
    active = null;
    return rest.length < links().length ? write(rest) : update();
  }
  function moved() {
    const before = active && at(links(), active);
    if (!before || !view.selection) return;
    active = { ...before, ...view.selection };
    context.refused.push(before);
    write([...links().filter((each) => each !== before), active]);
  }
  function update() {
    if (active && !at(mentions(), active)) active = null;
    view.draw([...proposals().map((each) => ({ each, style: "proposal " })), ...links().map((each) => ({ each, style: "" }))].map(({ each, style }) => ({
      start: each.start, end: each.end, kind: `${style}${idsOf(each).length ? "c0" : "c6"}`, label: `${idsOf(each).map((id) => entries.get(id)?.label ?? id).join(" ") || "NIL"}${style ? "?" : ""}`, active: active !== null && isPlace(each, active), item: each })));
    title.replaceChildren(...(active ? [make("bdi", {}, active.text), make("span", { class: "quiet" }, " means")] : [make("span", { class: "quiet" }, "Choose a mention (↓), or select its words and search (/).")]));
    const current = active && at(links(), active);
    choices.replaceChildren(...(active ? [...candidates(active), null] : []).map((id, place) => {
      const entry = entries.get(id);
      const by = context.systems.filter((system) => idsOf(at(linksOf(system.value), active) ?? {}).includes(id));
      const isChosen = current && (id === null ? !idsOf(current).length : idsOf(current).includes(id));
      return make("li", {}, button(id === null ? "NIL: in no knowledge base" : [make("strong", { dir: "auto" }, entry?.label ?? id), make("span", { class: "quiet" }, ` ${[entry?.label ? id : null, entry?.description].filter(Boolean).join(" · ")}`), by.map((system) => make("span", { class: "by" }, system.letter))],
        id === null ? "0" : String(place + 1), () => link(id), { class: "candidate", "aria-pressed": String(Boolean(isChosen)) }));
    }));
  }
  const keys = () => [
    ...(active ? candidates(active) : []).map((id, place) => ({ keys: [String(place + 1)], label: `It is ${entries.get(id)?.label ?? id}`, run: () => link(id) })),
    { keys: ["0"], label: "In no knowledge base (NIL)", run: () => link(null) },
    { keys: ["/"], label: "Search the knowledge base", main: "Search", run: search },
    ...textKeys(view, context, { moved, before: () => { if (active) { active = null; update(); } } }).map((each) => (each.keys[0] === "/" ? { ...each, keys: ["w"] } : each)),
    { keys: ["ArrowDown"], label: "Next mention", run: () => step(1) },
    { keys: ["ArrowUp"], label: "Previous mention", run: () => step(-1) },
    { keys: ["Backspace", "Delete", "d"], label: "Delete the mention", run: remove },
    ...context.systems.map((system) => ({ keys: [system.letter], label: `Take all links of ${system.name}`, run: () => write(linksOf(system.value)) })),
  ];
  return { body, update, keys, opened: () => { if (mentions().length) activate(mentions()[0]); } };
}
