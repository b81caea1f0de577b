/* Answering: is the answer right, partly right, wrong, or which is it? Words of the passages are evidence. */

import { button, facts, make, offers, plain, same } from "../dom.js";
import { TextView, textKeys } from "../text.js";

export const ownFields = ["question"];
const PASSAGES = ["context", "contexts", "retrieved_contexts", "passages"];
const BETWEEN = " | "; /* between several acceptable answers */
const PARTLY = "partly right";

const answersOf = (value) => value?.answers ?? [];
const words = (value) => answersOf(value).map(plain).join(BETWEEN);

/* Passages as one text: those of the record, and what systems retrieved. */
function passages(record) {
  const sources = [...PASSAGES.map((name) => record.fields[name]), ...record.suggestions.map((suggestion) => suggestion.output?.retrieved_contexts)];
  const texts = sources.flatMap((source) => (source && typeof source === "object" ? Object.values(source) : [source])).map((each) => (typeof each === "string" ? each : each?.text));
  return [...new Set(texts.filter((text) => typeof text === "string" && text))].join("\n\n");
}

export function start({ record }) {
  const values = record.suggestions.map((suggestion) => suggestion.value);
  return values.length && values.every((value) => same(answersOf(value), answersOf(values[0]))) ? values[0] : null;
}
export const check = (value) => (Array.isArray(value.answers) ? null : "Type the answer first (i), or 0 for a question without one.");
export const show = (value) => make("p", { class: "answer-shown", dir: "auto" }, words(value) || "no answer");

export function edit(context) {
  const { record, setup } = context;
  const text = passages(record);
  const view = new TextView(text, { label: "Passages" });
  const field = make("input", { "aria-label": "Answer", autocomplete: "off", dir: "auto", placeholder: "the answer" });
  const evidence = make("ul", { class: "items", "aria-label": "Evidence" });
  const first = record.suggestions[0];
  const isSingle = record.suggestions.length === 1;
  const hasEvidence = text !== "" && setup.outputs.includes("supporting_facts");
  const body = make("div", { class: "editor" }, make("p", { class: "question", dir: "auto" }, plain(record.fields.question)),
    make("label", { class: "answer-field" }, make("span", { class: "quiet" }, `Answer (several: a${BETWEEN}b)`), field), offers(context, (value) => words(value) || "no answer"),
    text ? view.element : null, evidence, facts(record, [...ownFields, ...PASSAGES]));

  const factsOf = () => context.value?.supporting_facts ?? [];
  field.addEventListener("change", () => {
    if (field.value === words(context.value)) return;
    const answers = field.value.split(BETWEEN).map((answer) => answer.trim()).filter(Boolean);
    context.change({ ...context.value, answers });
  });
  const none = () => context.change({ ...context.value, answers: [] });
  /* Evidence that is marked stays with the answer that is right. */
  const right = () => context.decide("label", { good: true, value: { ...first.value, ...(factsOf().length ? { supporting_facts: factsOf() } : {}) } });
  function partly() {
    context.modes.add(PARTLY);
    return context.decide("label", { good: false, value: null });
  }
  const wrong = () => context.decide("label", { good: false, value: null });

  function mark() {
    const { selection } = view;
    if (!selection) return context.say("Select words of the passages first.", true);
    const rest = factsOf().filter((fact) => fact !== selection.text);
    return context.change({ ...context.value, supporting_facts: rest.length < factsOf().length ? rest : [...rest, selection.text] });
  }
  function update() {
    field.value = words(context.value);
    const marks = factsOf().filter((fact) => typeof fact === "string" && text.includes(fact)).map((fact) => {
      const at = text.indexOf(fact);
      return { start: view.outside(at), end: view.outside(at + fact.length), kind: "c2", label: "evidence" };
    });
    const answers = answersOf(context.value).filter((answer) => typeof answer === "string" && answer && text.includes(answer)).map((answer) => {
      const at = text.indexOf(answer);
      return { start: view.outside(at), end: view.outside(at + answer.length), kind: "c0", label: "answer" };
    });
    view.draw([...marks, ...answers]);
    evidence.replaceChildren(...factsOf().map((fact) => make("li", {}, make("span", { class: "pick", dir: "auto" }, plain(fact)),
      button("Delete", null, () => context.change({ ...context.value, supporting_facts: factsOf().filter((each) => each !== fact) }), { class: "small" }))));
    evidence.hidden = !factsOf().length;
  }
  const keys = () => [
    ...(isSingle ? [
      { keys: ["1"], label: "Right", main: true, run: right },
      { keys: ["2"], label: "Partly", main: true, run: partly },
      { keys: ["3"], label: "Wrong", main: true, run: wrong },
    ] : []),
    { keys: ["0"], label: "It has no answer", main: "No answer", run: none },
    { keys: ["i"], label: "Type the answer", main: "Type", run: () => field.select() },
    ...context.systems.map((system) => ({ keys: [system.letter], label: `Take the answer of ${system.name}`, run: () => context.change({ ...context.value, ...system.value }) })),
    ...(text ? textKeys(view, context) : []),
    ...(hasEvidence ? [{ keys: ["v"], label: "The words are evidence, or not", main: "Evidence", run: mark }] : []),
  ];
  return { body, update, keys };
}
