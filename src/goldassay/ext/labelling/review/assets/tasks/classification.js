/* Classification: a label, or several. Digits and capitals choose; with one label to a record a choice goes on at once. */

import { button, facts, make, offers, same } from "../dom.js";
import { matching } from "../finder.js";
import { choiceKeys } from "../keys.js";

/* How a decision of this task is written: one label, one with further ones, or a set. */
function form(setup) {
  if (setup.several) return "labels";
  return setup.outputs.includes("secondary_labels") ? "secondary" : "label";
}

export function read(value, setup) {
  if (!value) return [];
  if (form(setup) === "labels") return value.labels ?? [];
  return [value.label, ...(value.secondary_labels ?? [])].filter((label) => label !== null && label !== undefined && label !== "");
}

function write(labels, setup, before) {
  if (form(setup) === "labels") return { ...before, labels };
  if (form(setup) === "secondary") return labels.length ? { ...before, label: labels[0], secondary_labels: labels.slice(1) } : null;
  return labels.length ? { ...before, label: labels[0] } : null;
}

export const ownFields = [];

/* What all systems say, or nothing. */
export function start({ record, setup }) {
  const values = record.suggestions.map((suggestion) => suggestion.value).filter(Boolean);
  const agreed = values.length > 0 && values.every((value) => same(read(value, setup), read(values[0], setup)));
  return agreed ? values[0] : form(setup) === "labels" && !values.length ? { labels: [] } : null;
}

export function check(value, { setup }) {
  return read(value, setup).length || form(setup) === "labels" ? null : "Choose a label first.";
}

export function show(value, { setup }) {
  const labels = read(value, setup);
  return make("p", { class: "answer-shown", dir: "auto" }, labels.length ? labels.join(", ") : "no label");
}

export function edit(context) {
  const { record, setup } = context;
  const suggested = record.suggestions.flatMap((suggestion) => read(suggestion.value, setup));
  let labels = [];
  let shortcuts = [];
  const chips = make("div", { class: "choices", role: "group", "aria-label": "Labels" });
  const body = make("div", { class: "editor" }, facts(record), chips, offers(context, (value) => read(value, setup).join(", ") || "no label"));

  function choose(label) {
    const chosen = read(context.value, setup);
    if (form(setup) === "label") {
      const value = write([label], setup, context.value);
      context.change(value);
      return context.decide("label");
    }
    const rest = chosen.filter((each) => each !== label);
    context.change(write(rest.length < chosen.length ? rest : [...chosen, label], setup, context.value));
    return undefined;
  }
  async function filter() {
    const options = labels.map((label) => ({ label: String(label), value: label }));
    const option = await context.find({ title: "Label", search: (query) => matching(options, query), free: (label) => ({ label, value: label, description: "a new label" }) });
    if (option && !labels.includes(option.value)) setup.labels.push(option.value);
    return option ? choose(option.value) : undefined;
  }
  function update() {
    labels = [...new Set([...setup.labels, ...suggested])];
    shortcuts = choiceKeys(labels);
    const chosen = read(context.value, setup);
    chips.replaceChildren(...labels.map((label, place) => {
      const systems = context.systems.filter((system) => read(system.value, setup).includes(label));
      const rank = chosen.indexOf(label);
      return button([make("span", { dir: "auto" }, String(label)), systems.map((system) => make("span", { class: "by", title: system.name }, system.letter))],
        shortcuts[place], () => choose(label), { "aria-pressed": String(rank >= 0), class: rank > 0 ? "choice second" : "choice" });
    }), button("Find", "/", filter, { class: "choice" }));
  }
  const keys = () => [
    ...labels.map((label, place) => ({ keys: [shortcuts[place]].filter(Boolean), label: String(label), run: () => choose(label) })).filter((each) => each.keys.length),
    ...context.systems.map((system) => ({ keys: [system.letter], label: `Take ${system.name}`, run: () => { context.change(system.value); } })),
    { keys: ["/"], label: "Type to find a label, or a new one", run: filter },
  ];
  return { body, update, keys };
}
