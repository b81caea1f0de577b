import { facts, make, plain } from "../dom.js";
export const start = ({ record }) => record.suggestions[0]?.value ?? null;
export const check = () => null;
export const show = (value) => make("pre", {}, plain(value));
export function edit(context) {
  const body = make("div", { class: "editor" }, facts(context.record));
  return { body, update() {}, keys: () => [] };
}
