/* Records: a form for the record, next to the text that it is read from; the value of the active field is marked there. */

import { facts, make } from "../dom.js";
import { agreed, Form, fromSchema, fromValues, shown } from "../form.js";
import { TextView } from "../text.js";

export const ownFields = ["text"];

export function start({ record }) {
  const values = record.suggestions.map((suggestion) => suggestion.value?.record ?? {});
  return { record: agreed(values) ?? {} };
}
export const check = (value, context) => context.form?.problem() ?? null;
export const show = (value, context, others = []) => make("div", { class: "record-shown" }, shown(value?.record ?? {}, others.map((other) => other?.record ?? {})));

/* The ways in which a source may write a value. */
function writings(value) {
  if (typeof value === "number") return [String(value), value.toLocaleString("en"), value.toLocaleString("de"), value.toFixed(2)];
  return typeof value === "string" && value ? [value] : [];
}

export function edit(context) {
  const { record, setup } = context;
  const text = String(record.fields.text ?? "");
  const view = new TextView(text);
  const samples = [...record.suggestions.map((suggestion) => suggestion.value?.record ?? {}), context.value?.record ?? {}];
  const shape = setup.schema ? fromSchema(setup.schema) : fromValues(samples);
  const systems = context.systems.map((system) => ({ ...system, value: system.value?.record ?? {} }));

  function mark(value) {
    const writing = writings(value).find((each) => text.includes(each));
    const at = writing === undefined ? -1 : text.indexOf(writing);
    view.draw(at < 0 ? [] : [{ start: view.outside(at), end: view.outside(at + writing.length), kind: "c0", label: "", active: false }]);
    if (at >= 0) view.reveal(at);
  }
  const form = new Form(context, shape, { get: () => context.value?.record ?? {}, set: (value) => context.change({ ...context.value, record: value }), systems, onActive: mark });
  context.form = form;
  const body = make("div", { class: "editor split" }, text ? make("div", {}, view.element, facts(record, ownFields)) : facts(record), form.element);
  return { body, update: () => form.update(), keys: () => form.keys(), opened: () => form.begin() };
}
