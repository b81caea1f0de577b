/* Two answers or more side by side: which is right. The server gives the order; names stay hidden until the end. */

import { button, facts, make } from "../dom.js";

const SIDES = ["Left", "Right"];
const WORDS = { side: "is correct", both: "Both are correct", neither: "Neither is correct" };

export function edit(context) {
  const { record, task } = context;
  const sides = record.suggestions;
  const words = task.words ?? WORDS;
  const isConflict = record.visit === "conflict";
  const name = (place) => (sides.length === 2 ? SIDES[place] : `Answer ${place + 1}`);
  const body = make("div", { class: "editor" });
  let inner = null; /* the task's own editor, while one answer is corrected */

  function correct(place) {
    context.history.push(context.value);
    context.value = sides[place].value;
    if (!isConflict) context.choice = sides[place].key; /* the one that is corrected is the better one */
    enter();
    context.update();
  }
  function enter() {
    inner = task.edit(context);
    body.replaceChildren(inner.body);
  }
  const choose = (choice) => context.decide("label", { choice, value: null });

  function overview() {
    inner = null;
    const panels = sides.map((side, place) => make("section", { class: "side" }, make("h2", {}, name(place), side.system ? make("span", { class: "quiet" }, ` ${side.system}`) : null),
      make("div", { class: "side-answer" }, task.show(side.value, context, sides.filter((other) => other !== side).map((other) => other.value), side)),
      make("p", {}, button(isConflict ? "Take this" : `${name(place)} ${words.side}`, String(place + 1), () => choose(side.key)), " ", button("Correct it", "ab"[place] ?? null, () => correct(place)))));
    body.replaceChildren(...facts(record, task.ownFields), make("div", { class: "sides" }, panels),
      isConflict ? "" : make("p", { class: "choices" }, button(words.both, String(sides.length + 1), () => choose("both")), button(words.neither, String(sides.length + 2), () => choose("neither")),
        make("span", { class: "quiet" }, "If all of them are wrong, choose neither, or correct the better one.")));
  }
  function update() {
    if (context.value === null) {
      context.choice = null;
      if (inner || !body.firstChild) overview();
      return;
    }
    if (!inner) enter();
    inner.update();
  }
  function keys() {
    if (inner) return inner.keys().filter((each) => !"ab".includes(each.keys[0]));
    return [
      ...sides.map((side, place) => ({ keys: [String(place + 1), ...(sides.length === 2 ? [["ArrowLeft", "ArrowRight"][place]] : [])], label: `${name(place)} ${words.side}`, run: () => choose(side.key) })),
      ...(isConflict ? [] : [
        { keys: [String(sides.length + 1)], label: words.both, run: () => choose("both") },
        { keys: [String(sides.length + 2)], label: words.neither, run: () => choose("neither") },
      ]),
      ...sides.slice(0, 2).map((side, place) => ({ keys: ["ab"[place]], label: `Correct ${name(place).toLowerCase()}`, run: () => correct(place) })),
    ];
  }
  return { body, update, keys };
}

