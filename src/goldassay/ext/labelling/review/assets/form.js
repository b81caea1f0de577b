/* A form for an object: its rows come from a JSON Schema, from declared fields, or from the values that systems gave.
   Where systems differ, both values are next to the field, and a letter takes one. */

import { button, make, plain, same } from "./dom.js";

const LONG = 80; /* characters from which a text has several lines */

/* Shapes: { kind: "object", fields } | { kind: "list", item } | { kind: "text"|"number"|"integer"|"boolean"|"date"|"choice", choices }. */

export function fromSchema(schema, root = schema) {
  if (schema.$ref) return fromSchema(schema.$ref.slice(2).split("/").reduce((part, name) => part?.[name], root) ?? {}, root);
  const variants = (schema.anyOf ?? schema.oneOf ?? []).filter((each) => each.type !== "null");
  if (variants.length) return fromSchema({ ...variants[0], description: schema.description ?? variants[0].description }, root);
  const hint = schema.description ?? "";
  const type = [schema.type].flat().find((name) => name !== "null");
  if (schema.enum) return { kind: "choice", choices: schema.enum.filter((each) => each !== null), hint };
  if (schema.properties) return { kind: "object", hint, fields: Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, fromSchema(each, root)])) };
  if (type === "array") return { kind: "list", hint, item: fromSchema(schema.items ?? {}, root) };
  if (schema.format === "date") return { kind: "date", hint };
  return { kind: ["number", "integer", "boolean"].includes(type) ? type : "text", hint };
}

export function fromValues(values) {
  const present = values.filter((value) => value !== null && value !== undefined);
  if (present.length && present.every(Array.isArray)) return { kind: "list", item: fromValues(present.flat()) };
  if (present.length && present.every((value) => typeof value === "object" && !Array.isArray(value))) {
    const names = [...new Set(present.flatMap(Object.keys))];
    return { kind: "object", fields: Object.fromEntries(names.map((name) => [name, fromValues(present.map((value) => value[name]))])) };
  }
  if (present.length && present.every((value) => typeof value === "number")) return { kind: "number" };
  if (present.length && present.every((value) => typeof value === "boolean")) return { kind: "boolean" };
  return { kind: present.some((value) => typeof value === "object") ? "json" : "text" };
}

/* What systems agree on; where they differ nothing, until somebody decides. */
export function agreed(values) {
  if (!values.length || values.every((value) => same(value, values[0]))) return values[0];
  const objects = values.every((value) => value && typeof value === "object" && !Array.isArray(value));
  const lists = values.every((value) => Array.isArray(value) && value.length === values[0].length && value.every((item) => item && typeof item === "object"));
  if (lists) return values[0].map((item, place) => agreed(values.map((value) => value[place])));
  if (!objects) return undefined;
  const names = [...new Set(values.flatMap(Object.keys))];
  const entries = names.map((name) => [name, agreed(values.map((value) => value[name]))]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/* The name of a place in the object as people say it: items of lists count from 1. */
const spoken = (path) => path.map((part) => (typeof part === "number" ? part + 1 : part)).join(" ").replaceAll("_", " ");

const at = (value, path) => path.reduce((part, name) => part?.[name], value);

/* A copy with another value at a path; undefined takes the field away. */
function put(value, [name, ...rest], inner) {
  if (name === undefined) return inner;
  const whole = Array.isArray(value) ? [...value] : typeof name === "number" ? [] : { ...value };
  const part = put(whole[name], rest, inner);
  if (part === undefined && Array.isArray(whole)) whole.splice(name, 1);
  else if (part === undefined) delete whole[name];
  else whole[name] = part;
  return whole;
}

function read(text, shape) {
  if (text === "") return undefined;
  if (shape.kind === "number" || shape.kind === "integer") {
    const number = Number(text);
    if (Number.isNaN(number) || (shape.kind === "integer" && !Number.isInteger(number))) throw new Error(`a ${shape.kind} is needed, not ${text}`);
    return number;
  }
  if (shape.kind === "boolean") return text === "true";
  if (shape.kind === "choice") return shape.choices.find((each) => String(each) === text);
  return shape.kind === "json" ? JSON.parse(text) : text;
}

/* The values that a field may have, if they are few. */
const choicesOf = (shape) => (shape.kind === "boolean" ? [true, false] : shape.choices ?? []);

export class Form {
  /* `get` and `set` are of the whole object; `onActive(value)` hears of the value of the row that is active. */
  constructor(context, shape, { get, set, systems, onActive = () => {} }) {
    Object.assign(this, { context, shape, get, set, systems, onActive });
    this.element = make("div", { class: "form" });
    this.active = 0;
    this.settled = new WeakMap(); /* of each object that was made: the differing fields that somebody decided */
    this.rows = [];
    this.state = null;
  }

  /* Rows from top to bottom; a list has a row of its own, with its items below. */
  plan(shape = this.shape, path = [], name = "") {
    const value = at(this.get(), path);
    const open = this.isOpen(path);
    if (shape.kind === "object" && !open) {
      const inner = Object.entries(shape.fields).flatMap(([key, each]) => this.plan(each, [...path, key], key));
      return name ? [{ path, name, shape, isHead: true }, ...inner] : inner;
    }
    if (shape.kind !== "list" || open) return [{ path, name, shape: open && ["list", "object"].includes(shape.kind) ? { kind: "json" } : shape }];
    const items = (Array.isArray(value) ? value : []).flatMap((item, place) => this.plan(shape.item, [...path, place], `${name} ${place + 1}`));
    return [{ path, name, shape, isHead: true }, ...items];
  }

  /* Lists and objects that systems fill differently are decided as a whole: nothing is there yet. */
  isOpen(path) {
    return path.length > 0 && at(this.get(), path) === undefined && this.differs(path) && this.systems.some((system) => typeof at(system.value, path) === "object" && at(system.value, path) !== null);
  }

  differs(path) {
    const values = this.systems.map((system) => at(system.value, path));
    return values.length > 1 && !values.every((value) => same(value, values[0]));
  }

  undecided() {
    return this.rows.filter((row) => !row.isHead && this.differs(row.path) && at(this.get(), row.path) === undefined && !this.settled.get(this.get())?.has(row.path.join()));
  }

  put(path, value) {
    this.write(put(this.get(), path, value), [path]);
  }

  write(value, paths) {
    const before = this.get();
    const isSame = same(before, value); /* an empty field that was decided to be empty */
    this.settled.set(isSame ? before : value, new Set([...(this.settled.get(before) ?? []), ...paths.map((path) => path.join())]));
    if (!isSame) this.set(value);
  }

  update() {
    const rows = this.plan();
    const state = JSON.stringify(rows.map((row) => [row.path, row.shape.kind]));
    const focused = document.activeElement?.dataset?.path;
    this.rows = rows;
    this.active = Math.min(this.active, Math.max(0, rows.length - 1));
    if (state !== this.state) {
      this.state = state;
      this.element.replaceChildren(...rows.map((row, place) => this.row(row, place)));
      if (focused) this.rows.find((row) => row.path.join() === focused)?.input?.focus();
    } else this.rows.forEach((row, place) => Object.assign(row, this.drawn[place]));
    this.drawn = this.rows.map(({ input, element }) => ({ input, element }));
    const open = new Set(this.undecided());
    for (const [place, row] of this.rows.entries()) {
      if (row.input) row.input.value = plain(at(this.get(), row.path));
      row.element.classList.toggle("active", place === this.active);
      row.element.classList.toggle("open", open.has(row));
    }
    this.onActive(at(this.get(), this.rows[this.active]?.path ?? []));
  }

  row(row, place) {
    const label = spoken(row.path);
    const name = make("span", { class: "field-name", title: row.shape.hint || null }, row.name.replaceAll("_", " "));
    const depth = row.path.length - 1;
    const last = row.path.at(-1);
    const remove = typeof last === "number" ? button("Remove", null, () => this.put(row.path, undefined), { class: "small", "aria-label": `Remove ${label}` }) : null;
    if (row.isHead) {
      const add = row.shape.kind === "list" ? button("Add", null, () => this.add(row), { class: "small", "aria-label": `Add to ${label}` }) : null;
      row.element = make("div", { class: `row-field head d${Math.min(depth, 3)}` }, name, add, remove);
    } else {
      row.input = this.field(row, label);
      const sides = this.differs(row.path) ? this.systems.map((system) => button(make("span", { dir: "auto" }, plain(at(system.value, row.path)) || "nothing"), system.letter, () => this.take(system, place), { class: "offer", "aria-label": `${label} of ${system.name}: ${plain(at(system.value, row.path)) || "nothing"}` })) : null;
      row.element = make("div", { class: `row-field d${Math.min(depth, 3)}${sides ? " differs" : ""}` }, make("label", {}, name, row.input), sides, remove);
    }
    row.element.addEventListener("focusin", () => { if (this.active !== place) { this.active = place; this.update(); } });
    return row.element;
  }

  field(row, label) {
    const attributes = { "aria-label": label, "data-path": row.path.join(), autocomplete: "off", dir: "auto" };
    const options = choicesOf(row.shape);
    const current = plain(at(this.get(), row.path));
    const isLong = row.shape.kind === "json" || current.length > LONG;
    const input = options.length ? make("select", attributes, ["", ...options].map((each) => make("option", { value: String(each) }, String(each))))
      : isLong ? make("textarea", { ...attributes, rows: Math.min(8, Math.ceil(current.length / LONG) + current.split("\n").length - 1 || 1) }) : make("input", attributes);
    input.addEventListener("change", () => this.changed(row, input));
    return input;
  }

  changed(row, input) {
    if (input.value === plain(at(this.get(), row.path))) return;
    try {
      input.setCustomValidity("");
      this.put(row.path, read(input.value.trim(), row.shape));
    } catch (error) {
      input.setCustomValidity(error.message);
      this.context.say(`${row.name}: ${error.message}`, true);
      throw error;
    }
  }

  add(row) {
    const list = at(this.get(), row.path) ?? [];
    this.put([...row.path, list.length], row.shape.item.kind === "object" ? {} : row.shape.item.kind === "list" ? [] : "");
  }

  /* The value of a system for a row; then comes the next row that is open. */
  take(system, place = this.active) {
    const row = this.rows[place];
    if (!row || row.isHead) return;
    this.active = place;
    this.put(row.path, at(system.value, row.path));
    this.next();
  }

  begin() {
    this.active = -1;
    this.next();
    this.active = Math.max(0, this.active);
    this.update();
  }

  next() {
    const open = this.undecided();
    const after = open.find((row) => this.rows.indexOf(row) > this.active) ?? open[0];
    if (after) this.active = this.rows.indexOf(after);
    this.update();
  }

  step(by) {
    this.active = Math.max(0, Math.min(this.rows.length - 1, this.active + by));
    this.update();
    this.rows[this.active]?.element.scrollIntoView({ block: "nearest" });
  }

  clear() {
    const row = this.rows[this.active];
    if (!row) return;
    this.put(row.path, undefined);
    if (typeof row.path.at(-1) !== "number") this.next();
  }

  problem() {
    const bad = this.element.querySelector(":invalid");
    if (bad) return `${bad.getAttribute("aria-label")}: ${bad.validationMessage}`;
    const open = this.undecided();
    return open.length ? `Still to decide: ${open.map((row) => spoken(row.path)).join(", ")}. A letter takes a value, ⌫ leaves it empty.` : null;
  }

  keys() {
    const row = this.rows[this.active];
    return [
      { keys: ["i"], label: "Type the value of the field", main: "Type", run: () => (row?.isHead ? this.add(row) : row?.input?.focus()) },
      { keys: ["ArrowDown"], label: "Next field", run: () => this.step(1) },
      { keys: ["ArrowUp"], label: "Previous field", run: () => this.step(-1) },
      { keys: ["Backspace", "Delete", "d"], label: "Leave the field empty, or remove the item", run: () => this.clear() },
      ...(row ? choicesOf(row.shape) : []).slice(0, 9).map((choice, place) => ({ keys: [String(place + 1)], label: `${row.name}: ${choice}`, run: () => this.put(row.path, choice) })),
      ...this.systems.flatMap((system) => [
        { keys: [system.letter], label: `Take this field of ${system.name}`, run: () => this.take(system) },
        { keys: [system.letter.toUpperCase()], label: `Take everything of ${system.name}`, run: () => this.write({ ...system.value }, this.rows.map((each) => each.path)) },
      ]),
    ];
  }
}

/* Two objects or more, side by side, a line a leaf; a leaf that another has differently is marked. */
export function shown(value, others, path = [], name = "") {
  const isLeaf = value === null || typeof value !== "object" || !Object.keys(value).length;
  const indent = `d${Math.min(Math.max(path.length - 1, 0), 3)}`;
  if (!isLeaf) {
    const inner = Object.entries(value).flatMap(([key, each]) => shown(each, others, [...path, key], Array.isArray(value) ? `${name} ${Number(key) + 1}` : key));
    return name ? [make("div", { class: indent }, make("span", { class: "quiet" }, name.replaceAll("_", " "))), ...inner] : inner;
  }
  const isOther = others.some((other) => !same(at(other, path), value));
  const text = plain(value) || "nothing";
  return [make("div", { class: indent, dir: "auto" }, name ? make("span", { class: "quiet" }, `${name.replaceAll("_", " ")} `) : null, isOther ? make("mark", { class: "c4" }, text) : text)];
}
