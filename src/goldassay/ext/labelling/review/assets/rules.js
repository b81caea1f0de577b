/* Guidelines: one key away, editable, and each rule says which record prompted it. */

import { byId, button, make, shut } from "./dom.js";
import { Refusal } from "./server.js";

export function rules(server, setup, id) {
  const dialog = byId("rules");
  const text = make("textarea", { rows: 16, "aria-label": "Guidelines", spellcheck: "true", "data-own": "yes" });
  const state = make("p", { class: "quiet", role: "status" }, id === null ? "" : `A line that you add ends with the record ${id}.`);
  text.value = setup.guidelines.text;

  async function save() {
    try {
      setup.guidelines = await server.ask("guidelines", "PUT", { text: text.value, version: setup.guidelines.version, record: id });
      shut(dialog);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      state.textContent = error.message;
      if (error.status !== 409) return;
      setup.guidelines = { text: error.answer.text, version: error.answer.version };
      text.value = `${text.value}\n\n${error.answer.text}`;
      state.textContent = "Somebody else saved other guidelines; theirs are below yours. Save what should remain.";
    }
  }
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.altKey)) return;
    event.preventDefault();
    save();
  });
  dialog.replaceChildren(make("h2", { id: "rules-title" }, "Guidelines"), text, state,
    make("p", {}, button("Save", "Ctrl ⏎", save), " ", button("Close", "Esc", () => shut(dialog))));
  dialog.showModal();
  text.focus();
  server.ask("guidelines").then((latest) => {
    if (text.value === setup.guidelines.text) text.value = latest.text;
    setup.guidelines = latest;
  }).catch((error) => { state.textContent = error.message; });
}
