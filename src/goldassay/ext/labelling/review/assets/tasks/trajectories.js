/* Trajectories: the answer; the steps are below it, as for every task. The calls are corrected in a form that is folded. */

import { facts, make, plain } from "../dom.js";
import * as own from "./own.js";

export { check, ownFields, start } from "./own.js";
export const words = { side: "goes on better", both: "Both are as good", neither: "Neither is any good" };

const answer = (side) => make("p", { class: "answer-shown", dir: "auto" }, plain(side?.output?.answer) || "(no answer)");
export const show = (value, context, others = [], side = null) => answer(side);

export function edit(context) {
  const inner = own.edit(context);
  const form = make("details", {}, make("summary", {}, "Correct the calls"), context.form.element);
  const body = make("div", { class: "editor" }, facts(context.record), context.record.suggestions.map(answer), form);
  function open() {
    form.open = true;
    inner.opened();
  }
  return { body, update: inner.update, keys: () => form.open ? inner.keys() : [{ keys: ["i"], label: "Correct the calls", run: open }] };
}
