/* Tasks of your own: a form from the fields of the signature, and always plain good or bad. */

import { facts, make, plain } from "../dom.js";
import { agreed, Form, fromSchema, fromValues, shown } from "../form.js";

export const ownFields = [];
const KINDS = { int: "integer", float: "number", number: "number", integer: "integer", bool: "boolean", boolean: "boolean" };

function pick(value, names) {
  return Object.fromEntries(names.filter((name) => value?.[name] !== undefined).map((name) => [name, value[name]]));
}
export const start = ({ record, setup }) => agreed(record.suggestions.map((suggestion) => pick(suggestion.value, setup.outputs))) ?? {};
export function check(value, context) {
  const isEmpty = context.setup.outputs.every((name) => value[name] === undefined || value[name] === "");
  return isEmpty ? "Fill in the answer first (i)." : context.form?.problem() ?? null;
}
export const show = (value, context, others = [], side = null) => make("div", { class: "record-shown" }, shown(pick(value, context.setup.outputs), others), side && notes(side));

/* What led to an answer (reasoning, trajectory): folded, and never asked for. */
function notes(side) {
  const names = Object.keys(side.output ?? {}).filter((name) => side.value && !(name in side.value));
  if (!names.length) return null;
  const inner = shown(Object.fromEntries(names.map((name) => [name, side.output[name]])), []);
  return make("details", { class: "notes" }, make("summary", {}, `Working notes${side.system ? ` of ${side.system}` : ""}`), inner);
}

export function edit(context) {
  const { record, setup } = context;
  const declared = new Map(setup.fields.map((field) => [field.name, field]));
  const fields = Object.fromEntries(setup.outputs.map((name) => {
    const samples = record.suggestions.map((suggestion) => suggestion.value?.[name]);
    const { type, choices = [], description = "" } = declared.get(name) ?? {};
    const schema = setup.schema?.properties?.[name];
    if (schema) return [name, fromSchema(schema, setup.schema)];
    const shape = choices?.length ? { kind: "choice", choices } : KINDS[type] ? { kind: KINDS[type] } : fromValues(samples);
    return [name, { ...shape, hint: plain(description) }];
  }));
  const form = new Form(context, { kind: "object", fields }, { get: () => context.value ?? {}, set: (value) => context.change(value), systems: context.systems });
  context.form = form;
  const body = make("div", { class: "editor" }, facts(record), form.element, record.suggestions.map(notes));
  return { body, update: () => form.update(), keys: () => form.keys(), opened: () => form.begin() };
}
