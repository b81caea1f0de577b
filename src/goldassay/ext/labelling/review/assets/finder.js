/* A dialog that finds: type, arrows, Enter. For labels, ids, ends of links, kinds of failure. */

import { byId, make, shut } from "./dom.js";

const MOST = 12;

/* Names that contain all the typed words; those that begin with them come first. */
export function matching(options, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (option) => `${option.label} ${option.description ?? ""}`.toLowerCase();
  const hits = options.filter((option) => words.every((word) => text(option).includes(word)));
  const rank = (option) => (option.label.toLowerCase().startsWith(query.toLowerCase()) ? 0 : 1);
  return hits.sort((a, b) => rank(a) - rank(b)).slice(0, MOST);
}

/* Resolves to the chosen option, or null. `search(query)` gives the options; `free` makes one of what was typed.
   With `several` the dialog stays open: `several.choose(option)` hears of each one, `several.key(name)` of a key in
   the empty field (true closes the dialog, as Enter does; undefined: the key is typed), and `several.head()` is shown above the list. `value` is in the field at first. */
export function find({ title, search, free = null, several = null, value = "" }) {
  const dialog = byId("finder");
  const field = make("input", { role: "combobox", "aria-label": title, "aria-controls": "finder-list", "aria-expanded": "true", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", maxlength: 200 });
  const list = make("ul", { id: "finder-list", role: "listbox", "aria-label": title });
  const head = make("div", { class: "picked" });
  const empty = make("p", { class: "quiet", hidden: true }, free ? "Type a name." : "Nothing matches.");
  field.value = value;
  let options = [];
  let chosen = 0;
  let asked = 0;
  let result = null;

  function draw() {
    list.replaceChildren(...options.map((option, place) => make("li", { role: "option", id: `option-${place}`, "aria-selected": String(place === chosen), dir: "auto", click: () => { chosen = place; finish(); } },
      make("span", {}, option.label), option.description ? make("span", { class: "quiet" }, option.description) : null)));
    list.hidden = !options.length;
    empty.hidden = options.length > 0;
    if (options[chosen]) field.setAttribute("aria-activedescendant", `option-${chosen}`);
    else field.removeAttribute("aria-activedescendant");
    if (several) head.replaceChildren(...several.head(() => { update(); field.focus(); }));
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }
  async function update() {
    list.ariaBusy = "true";
    asked += 1;
    const number = asked;
    const query = field.value.trim();
    const answer = [...await search(query)];
    if (number !== asked) return; /* a later word is being looked up */
    if (free && query && !answer.some((option) => option.label === query)) answer.push(free(query));
    options = answer;
    chosen = several && !query ? -1 : 0; /* of several, Enter in the empty field ends */
    draw();
    list.ariaBusy = null;
  }
  async function finish() {
    list.ariaBusy = "true"; /* until the dialog is closed */
    await searching;
    result = options[chosen] ?? null;
    if (!several || !result) return shut(dialog);
    several.choose(result);
    field.value = "";
    searching = update();
    return undefined;
  }
  function stepTo(place) {
    chosen = place < 0 ? options.length - 1 : place % options.length;
    draw();
  }
  let searching = update();
  field.addEventListener("input", () => { searching = update(); });
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const own = field.value ? undefined : several?.key(event.key);
    if (step && options.length) stepTo(chosen + step);
    if (event.key === "Enter") finish();
    if (own === true) shut(dialog);
    if (own === false) update();
    if (!step && own === undefined && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation(); /* the dialog closes before the event would reach the page */
  });
  dialog.replaceChildren(make("h2", {}, title), several ? head : "", field, list, empty,
    several ? make("p", {}, make("button", { type: "button", click: () => shut(dialog) }, "Done", make("kbd", {}, "⏎"))) : "");
  dialog.showModal();
  field.select();
  return new Promise((done) => { dialog.addEventListener("close", () => done(result), { once: true }); });
}
