/* Retrieval: a grade from 0 to 3 for each passage. A digit grades the passage and goes to the next one. */

import { button, make, plain } from "../dom.js";

export const ownFields = ["query"];
const LISTS = ["passages", "documents"];
const GRADES = [["0", "no use"], ["1", "touches it"], ["2", "helps"], ["3", "answers it"]];

export const gradesOf = (value) => (Array.isArray(value?.relevant) ? Object.fromEntries(value.relevant.map((id) => [id, 1])) : value?.relevant ?? {});

/* Each passage once: those of the record, those that systems retrieved in their order, those that have a grade. */
function passagesOf(record, value) {
  const passages = new Map();
  const add = (id, text) => { if (id !== undefined && !passages.get(String(id))) passages.set(String(id), text ?? ""); };
  for (const name of LISTS) {
    const list = record.fields[name];
    if (Array.isArray(list)) for (const each of list) add(each?.doc_id ?? each?.id ?? each, each?.text);
    else if (list && typeof list === "object") for (const [id, each] of Object.entries(list)) add(id, each?.text ?? each);
  }
  const results = record.suggestions.map((suggestion) => suggestion.output?.results ?? []);
  for (let rank = 0; rank < Math.max(0, ...results.map((list) => list.length)); rank += 1) {
    for (const list of results) if (list[rank] !== undefined) add(list[rank].doc_id ?? list[rank], list[rank].text);
  }
  for (const id of Object.keys(gradesOf(value))) add(id, "");
  return [...passages].map(([id, text]) => ({ id, text }));
}

/* Grades that all systems gave, where they gave any. */
export function start({ record }) {
  return { relevant: Object.assign({}, ...record.suggestions.map((suggestion) => gradesOf(suggestion.value))) };
}
export const check = (value) => (Object.keys(gradesOf(value)).length ? null : "Grade a passage first: 0 to 3.");

export function show(value, context, others = [], suggestion = null) {
  const results = suggestion?.output?.results ?? [];
  const rows = results.length ? results.map((each) => [String(each.doc_id ?? each), each.text ?? ""]) : Object.entries(gradesOf(value)).map(([id, grade]) => [id, `grade ${grade}`]);
  return make("ol", { class: "results" }, rows.map(([id, text]) => make("li", {}, make("strong", {}, id), " ", make("span", { dir: "auto" }, plain(text).slice(0, 400)))));
}

export function edit(context) {
  const { record } = context;
  const passages = passagesOf(record, context.value);
  const list = make("ol", { class: "passages", "aria-label": "Passages" });
  const body = make("div", { class: "editor" }, make("p", { class: "question", dir: "auto" }, plain(record.fields.query)), list);
  let active = 0;

  function step(by) {
    active = Math.max(0, Math.min(passages.length - 1, active + by));
    update();
  }
  function grade(number, place = active) {
    if (!passages.length) return context.say("There is no passage.", true);
    const relevant = { ...gradesOf(context.value), [passages[place].id]: number };
    active = Math.min(place + 1, passages.length - 1);
    return context.change({ ...context.value, relevant }) ?? update();
  }
  function clear() {
    const relevant = { ...gradesOf(context.value) };
    delete relevant[passages[active]?.id];
    context.change({ ...context.value, relevant });
  }
  function update() {
    const grades = gradesOf(context.value);
    list.replaceChildren(...passages.map(({ id, text }, place) => make("li", { class: place === active ? "active" : "", click: () => { active = place; update(); } },
      make("div", { class: "grades" }, GRADES.map(([key, label]) => button(key, null, () => grade(Number(key), place), { "aria-pressed": String(grades[id] === Number(key)), title: label, "aria-label": `${id}: ${key}, ${label}` }))),
      make("div", { class: "passage", dir: "auto" }, make("span", { class: "quiet" }, `${id} `), plain(text)))));
    list.children[active]?.scrollIntoView({ block: "nearest" });
  }
  const keys = () => [
    ...GRADES.map(([key, label]) => ({ keys: [key], label: `Grade ${key}: ${label}`, run: () => grade(Number(key)) })),
    { keys: ["ArrowDown"], label: "Next passage", run: () => step(1) },
    { keys: ["ArrowUp"], label: "Previous passage", run: () => step(-1) },
    { keys: ["Backspace", "d"], label: "Remove the grade", run: clear },
  ];
  return { body, update, keys };
}
