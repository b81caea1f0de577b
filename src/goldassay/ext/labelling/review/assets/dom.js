/* Elements. Data never becomes markup: every text goes through a text node. */

import { inOrder } from "./sequence.js";

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

/* A shape of a drawing. */
export function shape(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/* A button with its key; `click` runs in order with the keys. The mouse does not take the selection of a text away. */
export function button(label, key, click, attributes = {}) {
  const cap = key ? make("kbd", {}, key) : null;
  return make("button", { type: "button", mousedown: (event) => event.preventDefault(), click: () => inOrder(click), ...attributes }, label, cap);
}

/* Closes a dialog; what was typed into holds no later key, though a browser takes the focus away only when it paints. */
export function shut(dialog) {
  const focused = document.activeElement;
  dialog.close();
  if (dialog.contains(focused)) focused.blur();
}

export const plain = (value) => typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value, null, 1);
export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
export const copy = (value) => structuredClone(value);

/* Pictures that a value holds, as a `dspy.Image` has them: their own bytes, never an address. */
const PICTURE = /data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}/g;
const BRIEF = 40;
const isBrief = (value) => typeof value !== "object" && plain(value).length <= BRIEF;
const inputs = (record, left) => Object.entries(record.fields).filter(([name, value]) => !left.includes(name) && value !== null && value !== "");

/* The inputs that a task does not show itself: a name and its value. A brief one is a tag beside the id, if another is long. */
export function facts(record, left = []) {
  const rows = inputs(record, left);
  const shown = rows.filter(([, value]) => !isBrief(value));
  return (shown.length || left.length ? shown : rows).map(([name, value]) => {
    const label = name.replaceAll("_", " ");
    const pictures = plain(value).match(PICTURE)?.map((src) => make("img", { class: "picture", src, alt: label }));
    return make("div", { class: "input" }, make("p", { class: "quiet" }, label), pictures ?? make("div", { class: "plain", dir: "auto" }, plain(value)));
  });
}
export function tags(record, left = []) {
  const rows = inputs(record, left);
  const brief = rows.filter(([, value]) => isBrief(value));
  return brief.length < rows.length || left.length ? brief.map(([name, value]) => make("span", { class: "tag" }, `${name.replaceAll("_", " ")}: ${plain(value)}`)) : [];
}

export const count = (n, name) => `${n} ${name}${n === 1 ? "" : "s"}`;

/* What each system says, with the letter that takes it. */
export function offers(context, words) {
  return make("div", { class: "offers" }, context.systems.map((system) => button([make("span", { class: "quiet" }, `${system.name} `), make("span", { dir: "auto" }, words(system.value))],
    system.letter, () => context.change(system.value), { class: "offer" })));
}

/* The theme is shared with the report. */
export function startTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = localStorage.getItem("goldassay-theme");
  root.dataset.theme = stored ?? (dark.matches ? "dark" : "light");
}
export function toggleTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("goldassay-theme", root.dataset.theme);
}
