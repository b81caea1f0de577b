"use strict";
/* The steps of a program as a tree with arguments and outputs folded, and those of two programs side by side. The report
   and the review share it. What a step holds is drawn when it is opened, and every text is a text node. */

globalThis.stepViews = (make) => {
  const KINDS = ["tool", "model", "retriever", "module"];
  const BRIEF = 90; /* characters of arguments and outputs on the line of a step */
  const MANY = 60; /* steps above which models and modules are hidden at first */
  const LARGEST = 1_000_000; /* cells of the table that aligns two programs */

  const isCall = (step) => step.kind === "tool" || step.kind === "retriever";
  const plain = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 1);
  const line = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "").slice(0, 4 * BRIEF).replace(/\s+/g, " ").trim();
  const cut = (text) => text.length > BRIEF ? `${text.slice(0, BRIEF - 1)}…` : text;
  const given = (step) => Object.entries(step.args ?? {}).map(([name, value]) => name ? `${name}=${line(value)}` : line(value)).join(", ");
  const spent = (step) => [typeof step.seconds !== "number" || step.seconds < 0.005 ? null : `${step.seconds < 10 ? step.seconds.toFixed(2) : Math.round(step.seconds)} s`,
    step.tokens > 0 ? `${Number(step.tokens).toLocaleString("en")} tokens` : null].filter(Boolean).join(" · ");

  function parts(step) {
    const rows = [...Object.entries(step.args ?? {}).map(([name, value]) => [name || "input", value]), ["output", step.output], ["error", step.error], ["predictor", step.predictor]];
    const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
    if (!shown.length) return make("p", { class: "facts" }, "Nothing more was recorded.");
    return make("dl", { class: "fields" }, shown.map(([name, value]) => [make("dt", {}, name), make("dd", {}, make("pre", { class: name === "error" ? "fail" : "", dir: "auto", tabindex: "0" }, plain(value)))]));
  }

  /* Calls are counted from 1, as tables count them; what is around them has no number. */
  function numbers(steps) {
    const calls = steps.some(isCall);
    let count = 0;
    return steps.map((step) => !calls || isCall(step) ? String(count += 1) : "·");
  }

  const wrongTag = () => make("span", { class: "tag strong" }, "first wrong step");

  function box(step, number, isWrong) {
    const details = make("details", {}, make("summary", {},
      make("span", { class: "num quiet" }, number), make("span", { class: `kind ${KINDS.find((kind) => kind === step.kind) ?? ""}` }, String(step.kind)),
      make("b", { dir: "auto" }, String(step.name)), make("span", { class: "brief", dir: "auto" }, cut(given(step))),
      step.error ? make("span", { class: "fail", dir: "auto" }, `✗ ${cut(line(step.error))}`) : null,
      isWrong ? wrongTag() : null, make("span", { class: "quiet when" }, spent(step))));
    details.addEventListener("toggle", () => { if (details.open && details.children.length < 2) details.append(parts(step)); });
    return details;
  }

  function depths(steps) {
    const depth = [];
    for (const [index, step] of steps.entries()) depth.push(step.parent === undefined || step.parent === null || !(step.parent < index) ? 0 : depth[step.parent] + 1);
    return depth;
  }

  /* The tree. `wrong` is the index of the first wrong step; that of the steps' end says that they end too early. */
  function tree(steps, { wrong = null, label = "Steps" } = {}) {
    const depth = depths(steps);
    const number = numbers(steps);
    const calls = steps.filter(isCall).length;
    const list = make("ol", { class: "steps", "aria-label": label }, steps.map((step, index) =>
      make("li", { class: `step ${isCall(step) ? "call" : "inner"} d${Math.min(depth[index], 8)}${index === wrong ? " wrong" : ""}`, "data-step": index }, box(step, number[index], index === wrong))),
    wrong !== null && wrong >= steps.length ? make("li", { class: "step call wrong d0", "data-step": steps.length }, make("p", { class: "fail" }, "It ends here, too early: the first wrong step")) : null);
    const facts = make("span", { class: "quiet" }, `${steps.length} step${steps.length === 1 ? "" : "s"}, ${calls} call${calls === 1 ? "" : "s"}`);
    list.addEventListener("click", (event) => activate(list, event.target.closest(".step")));
    const whole = make("section", { class: "steps-box" }, make("p", { class: "steps-head" }, make("b", {}, label), " ", facts), list);
    if (calls && calls < steps.length) {
      const button = make("button", { type: "button", class: "link" });
      const only = (isOnly) => { list.classList.toggle("only-calls", isOnly); button.textContent = isOnly ? "Show all steps" : "Show only calls"; };
      button.addEventListener("click", () => only(!list.classList.contains("only-calls")));
      whole.firstChild.append(" ", button);
      only(steps.length > MANY);
    }
    return whole;
  }

  const key = (step) => JSON.stringify(isCall(step) ? [step.kind, step.name, step.args ?? {}] : [step.kind, step.name]);

  /* Pairs of indices, null for a gap: a longest common subsequence between the common beginning and the common end. */
  function align(left, right) {
    const [a, b] = [left.map(key), right.map(key)];
    let begin = 0;
    while (begin < a.length && begin < b.length && a[begin] === b[begin]) begin += 1;
    let end = 0;
    while (end < a.length - begin && end < b.length - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
    const [n, m] = [a.length - begin - end, b.length - begin - end];
    const pairs = Array.from({ length: begin }, (_, index) => [index, index]);
    if (n * m > LARGEST) {
      for (let at = 0; at < Math.max(n, m); at += 1) pairs.push([at < n ? begin + at : null, at < m ? begin + at : null]);
    } else {
      const best = Array.from({ length: n + 1 }, () => new Uint32Array(m + 1));
      for (let i = n - 1; i >= 0; i -= 1) for (let j = m - 1; j >= 0; j -= 1) {
        best[i][j] = a[begin + i] === b[begin + j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
      }
      let [i, j] = [0, 0];
      let gap = [[], []];
      const flush = () => { /* what only one of them did is beside what only the other did */
        for (let at = 0; at < Math.max(gap[0].length, gap[1].length); at += 1) pairs.push([gap[0][at] ?? null, gap[1][at] ?? null]);
        gap = [[], []];
      };
      while (i < n || j < m) {
        if (i < n && j < m && a[begin + i] === b[begin + j]) { flush(); pairs.push([begin + i, begin + j]); i += 1; j += 1; }
        else if (j >= m || (i < n && best[i + 1][j] >= best[i][j + 1])) { gap[0].push(begin + i); i += 1; }
        else { gap[1].push(begin + j); j += 1; }
      }
      flush();
    }
    for (let at = end; at > 0; at -= 1) pairs.push([a.length - at, b.length - at]);
    return { begin, pairs };
  }

  /* Two programs side by side: [{ name, steps, wrong }] twice. The common beginning is folded, the first divergence marked. */
  function sideBySide(sides) {
    const [left, right] = sides;
    const { begin, pairs } = align(left.steps, right.steps);
    for (const side of sides) side.numbers = numbers(side.steps);
    const cell = (side, index) => make("div", { class: `step${index === null ? " gap" : ""}${index !== null && index === side.wrong ? " wrong" : ""}`, "data-step": index },
      index === null ? make("span", { class: "quiet" }, "–") : box(side.steps[index], side.numbers[index], index === side.wrong));
    const row = ([i, j]) => make("li", { class: `pair${i === null || j === null || key(left.steps[i]) !== key(right.steps[j]) ? " differs" : ""}` }, cell(left, i), cell(right, j));
    const list = (rows, label) => make("ol", { class: "steps beside", "aria-label": label }, rows.map(row));
    const isSame = begin === pairs.length;
    const common = begin ? make("details", { class: "common" }, make("summary", {}, begin === 1 ? `The ${isSame ? "only" : "first"} step is the same` : `${isSame ? "All" : "The first"} ${begin} steps are the same`),
      list(pairs.slice(0, begin), "The common beginning")) : null;
    return make("section", { class: "steps-box" }, make("p", { class: "steps-head pair" }, sides.map((side) => make("b", { dir: "auto" }, side.name))), common,
      isSame ? null : [make("p", { class: "facts divergence" }, "First divergence"), list(pairs.slice(begin), "From the first divergence")]);
  }

  /* Keys: the next or previous step that is on the screen, the first wrong one, and a look inside. What is folded has a parent of its offset, too. */
  const visible = (root) => [...root.querySelectorAll(".step[data-step]")].filter((each) => each.offsetParent !== null && !each.closest("details:not([open])"));
  const current = (root) => root.querySelector(".step.active");
  function activate(root, step) {
    for (const each of root.querySelectorAll(".step.active")) { each.classList.remove("active"); each.removeAttribute("aria-current"); }
    if (!step) return null;
    step.classList.add("active");
    step.setAttribute("aria-current", "step");
    step.scrollIntoView({ block: "nearest" });
    return step;
  }
  function move(root, by) {
    const steps = visible(root);
    const place = steps.indexOf(current(root));
    return activate(root, steps[place < 0 ? (by > 0 ? 0 : steps.length - 1) : Math.max(0, Math.min(steps.length - 1, place + by))]);
  }
  /* Another step of a tree is the first wrong one; null: none. A click on a step makes it the current one. */
  function mark(root, wrong) {
    for (const step of root.querySelectorAll(".step")) {
      const isWrong = step.dataset.step === String(wrong);
      step.querySelector("summary .tag")?.remove();
      if (isWrong) step.querySelector("summary")?.append(wrongTag());
      step.classList.toggle("wrong", isWrong);
    }
  }
  function goWrong(root) {
    const fold = root.querySelector(".common:has(.wrong)");
    if (fold) fold.open = true;
    return activate(root, visible(root).find((each) => each.matches(".wrong, .divergence + .steps .step")));
  }
  function look(root) {
    const details = current(root)?.querySelector("details") ?? null;
    if (!details) return;
    details.open = !details.open;
    requestAnimationFrame(() => details.scrollIntoView({ block: "nearest" })); /* what it holds is drawn by then */
  }

  /* The calls of gold, a line each; of several acceptable lists all. */
  function calls(gold) {
    if (!Array.isArray(gold) || !gold.length) return null;
    const lists = gold.every(Array.isArray) ? gold : [gold];
    const word = (each) => `${each?.name ?? ""}(${given(each ?? {})})`;
    return lists.map((list, at) => make("details", { open: list.length <= 12 }, make("summary", {}, `${lists.length > 1 ? `Acceptable calls ${at + 1}` : "Acceptable calls"} (${list.length})`),
      make("ol", { class: "results" }, list.map((each) => make("li", { dir: "auto" }, word(each))))));
  }
  return { mark, calls, tree, sideBySide, align, move, goWrong, look, current, activate };
};
