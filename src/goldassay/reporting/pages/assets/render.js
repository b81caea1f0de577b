"use strict";
/* One example: text with gold and predictions marked in place, passages, answers, triples, prompts. All as text nodes. */

(() => {
  const make = goldassay.make;
  goldassay.steps = stepViews(make);
  const LONG = 20000;
  /* Pictures that an input holds, as a `dspy.Image` has them: their own bytes, never an address. */
  const PICTURE = /data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}/g;
  const KNOWN = new Set(["entities", "links", "triples", "results", "relevant", "answer", "answers", "label",
    "secondary_labels", "retrieved_contexts", "citations", "claims", "confidence", "support", "answer_claims", "gold_claims", "record"]);

  const folded = (text) => String(text ?? "").trim().toLowerCase();

  /* Very long texts are cut, and shown in pieces when asked for: a browser lays out only those on the screen. */
  function long(text, kind, tag = "div") {
    const whole = String(text);
    const box = make(tag, { class: kind, dir: "auto" }, whole.slice(0, LONG));
    if (whole.length <= LONG) return box;
    const more = make("button", { type: "button", class: "link whole" }, `Show all ${whole.length.toLocaleString("en")} characters`);
    more.addEventListener("click", () => {
      box.replaceChildren();
      for (let at = 0; at < whole.length; at += LONG / 4) box.append(make("span", { class: "piece" }, whole.slice(at, at + LONG / 4)));
      more.remove();
    });
    return make("div", {}, box, more);
  }

  function spans(record) {
    const found = [];
    for (const one of record?.entities ?? []) {
      if (Array.isArray(one)) found.push({ start: one[0], end: one[1], label: String(one[2] ?? ""), text: "" });
      else if (one && typeof one === "object") found.push({ start: one.start, end: one.end, label: String(one.type ?? ""), text: one.text ?? "" });
    }
    for (const one of record?.links ?? []) {
      if (!one || typeof one !== "object") continue;
      const ids = one.ids ? Object.values(one.ids).flat() : (one.candidates ?? []).map((each) => each?.id ?? each).slice(0, 1);
      found.push({ start: one.start, end: one.end, label: ids.length ? ids.map(String).join(" ") : "NIL", text: one.text ?? "" });
    }
    return found;
  }

  const placed = (span, text) => Number.isInteger(span.start) && Number.isInteger(span.end) && span.start >= 0 &&
    span.end <= text.length && span.start < span.end;
  const agree = (a, b) => a.label === b.label || a.label.split(" ").some((one) => b.label.split(" ").includes(one));

  /* Offsets count characters; a string of JavaScript counts pairs for those beyond the first plane. */
  function offsets(text) {
    if (!/[\ud800-\udbff]/.test(text)) return (at) => at;
    const starts = [];
    for (let at = 0; at < text.length; at += 1) {
      starts.push(at);
      if (text.codePointAt(at) > 0xffff) at += 1;
    }
    starts.push(text.length);
    return (at) => starts[at] ?? text.length;
  }

  function marked(text, gold, said) {
    const at = offsets(text);
    const move = (span) => Number.isInteger(span.start) ? { ...span, start: at(span.start), end: at(span.end) } : span;
    const [ours, theirs] = [gold.map(move), said.map(move)];
    const all = [];
    for (const one of ours) {
      const hit = theirs.some((other) => other.start === one.start && other.end === one.end && agree(one, other));
      all.push({ ...one, kind: hit ? "hit" : "miss" });
    }
    for (const one of theirs) {
      if (!ours.some((other) => other.start === one.start && other.end === one.end && agree(one, other))) all.push({ ...one, kind: "extra" });
    }
    const shown = all.filter((one) => placed(one, text));
    const edges = [...new Set([0, text.length, ...shown.flatMap((one) => [one.start, one.end])])].sort((a, b) => a - b);
    const box = make("div", { class: "text", dir: "auto" });
    for (let place = 0; place + 1 < edges.length; place += 1) {
      const [from, to] = [edges[place], edges[place + 1]];
      const piece = text.slice(from, to);
      const over = shown.filter((one) => one.start <= from && one.end >= to);
      if (!over.length) { box.append(piece); continue; }
      const kinds = new Set(over.map((one) => one.kind));
      const kind = kinds.size === 1 ? [...kinds][0] : kinds.has("miss") && kinds.has("extra") ? "both" : "hit";
      box.append(make("mark", { class: kind, title: over.map((one) => `${says[one.kind]}: ${one.label}`).join("; ") }, piece));
      for (const one of over.filter((each) => each.end === to)) {
        box.append(make("span", { class: `is ${one.kind}` }, `${signs[one.kind]}${one.label}`));
      }
    }
    const lost = all.filter((one) => !placed(one, text));
    const out = [box];
    if (lost.length) {
      out.push(make("p", { class: "facts" }, "Without a place in the text: ",
        lost.map((one) => make("span", { class: "chip" }, `${signs[one.kind]}${one.text} ${one.label}`))));
    }
    return out;
  }

  const says = { hit: "gold and prediction", miss: "gold, not found", extra: "predicted, not in gold" };
  const signs = { hit: "✓ ", miss: "− ", extra: "+ " };

  function legend() {
    return make("div", { class: "legend" }, Object.entries(says).map(([kind, text]) =>
      make("span", {}, make("mark", { class: kind }, " abc "), make("span", { class: `is ${kind}` }, signs[kind]), ` ${text}`)));
  }

  function within(text, needles) {
    const box = make("span", { dir: "auto" });
    const lower = text.toLowerCase();
    const wanted = needles.map((one) => folded(one)).filter((one) => one.length > 1);
    let from = 0;
    while (from < text.length) {
      let best = null;
      for (const one of wanted) {
        const found = lower.indexOf(one, from);
        if (found >= 0 && (best === null || found < best[0])) best = [found, one.length];
      }
      if (best === null || lower.length !== text.length) break;
      box.append(text.slice(from, best[0]), make("mark", { class: "found" }, text.slice(best[0], best[0] + best[1])));
      from = best[0] + best[1];
    }
    box.append(text.slice(from));
    return box;
  }

  function passages(run, gold) {
    const said = run.prediction ?? {};
    const results = Array.isArray(said.results) ? said.results : Array.isArray(said.retrieved_contexts)
      ? said.retrieved_contexts.map((text) => ({ text })) : [];
    if (!results.length) return null;
    const relevant = Array.isArray(gold?.relevant) ? Object.fromEntries(gold.relevant.map((id) => [id, 1])) : gold?.relevant ?? {};
    const judged = Object.keys(relevant).length > 0;
    const cited = new Set((Array.isArray(said.citations) ? said.citations : []).filter((one) => typeof one === "string" || typeof one === "number").map(String));
    const needles = [said.answer, ...(gold?.answers ?? [])].filter((one) => typeof one === "string");
    const rows = results.slice(0, 50).map((one, place) => {
      const id = typeof one === "string" ? one : String(one.doc_id ?? "");
      const grade = relevant[id];
      const score = typeof one.score === "number" ? one.score.toPrecision(4) : "";
      return make("tr", {}, make("td", { class: "num" }, String(place + 1)), make("td", {}, id, cited.has(id) ? [" ", make("span", { class: "chip" }, "cited")] : null),
        judged ? make("td", { class: grade > 0 ? "good" : "" }, grade > 0 ? `✓ grade ${grade}` : grade === undefined ? "not judged" : "not relevant") : null,
        make("td", { class: "num" }, score), make("td", {}, within(String(one.text ?? "").slice(0, 3000), needles)));
    });
    const got = new Set(results.map((one) => typeof one === "string" ? one : String(one.doc_id ?? "")));
    const missed = Object.entries(relevant).filter(([id, grade]) => grade > 0 && !got.has(id));
    return make("details", { open: rows.length <= 12 }, make("summary", {}, `${results.length} passages`),
      make("div", { class: "scroll" }, make("table", { class: "compact" }, make("caption", {}, "The best first"), make("thead", {}, make("tr", {},
        ["rank", "document", ...(judged ? ["relevance"] : []), "score", "text"].map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows))),
      missed.length ? make("p", { class: "facts bad" }, `Not retrieved: ${missed.map(([id, grade]) => `${id} (grade ${grade})`).join(", ")}`) : null);
  }

  function triples(run, gold) {
    const ours = gold?.triples ?? [];
    const theirs = run.prediction?.triples ?? [];
    if (!ours.length && !theirs.length) return null;
    const part = (one, name, at) => Array.isArray(one) ? one[at] : one?.[name];
    const words = (one) => [part(one, "subject", 0), part(one, "predicate", 1), part(one, "object", 2)];
    const key = (one) => words(one).map((each) => folded(typeof each === "object" ? JSON.stringify(each) : each)).join("\u0001");
    const [inGold, inSaid] = [new Set(ours.map(key)), new Set(theirs.map(key))];
    const row = (one, kind) => make("tr", {}, make("td", {}, make("span", { class: `is ${kind}` }, signs[kind]), says[kind]),
      words(one).map((each) => make("td", { dir: "auto" }, typeof each === "object" ? JSON.stringify(each) : String(each ?? ""))),
      make("td", { class: "num" }, typeof one?.confidence === "number" ? one.confidence.toFixed(2) : ""));
    return make("div", { class: "scroll" }, make("table", { class: "compact" }, make("caption", {}, "Triples"),
      make("thead", {}, make("tr", {}, ["in", "subject", "predicate", "object", "confidence"].map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ours.filter((one) => inSaid.has(key(one))).map((one) => row(theirs.find((other) => key(other) === key(one)), "hit")),
        ours.filter((one) => !inSaid.has(key(one))).map((one) => row(one, "miss")),
        theirs.filter((one) => !inGold.has(key(one))).map((one) => row(one, "extra")))));
  }

  /* Gold and prediction as two objects, a line a leaf; what an error names is marked on its side. */
  function records(run, gold) {
    const both = [gold?.record, run.prediction?.record];
    if (both.every((one) => one === undefined || one === null)) return null;
    const paths = (run.errors ?? []).filter((error) => error.context).map((error) => error.context.includes(" | ") ? error.context.split(" | ") : [error.context, error.context]);
    const lines = (value, path, name, depth, side) => {
      const wrong = paths.some((pair) => pair[side] && (path === pair[side] || path.startsWith(`${pair[side]}.`) || path.startsWith(`${pair[side]}[`)));
      const kind = side ? "extra" : "miss";
      const label = [make("span", { class: "quiet" }, "\u00a0\u00a0".repeat(depth), name ? `${name}: ` : "")];
      if (value === null || typeof value !== "object" || !Object.keys(value).length) {
        const leaf = JSON.stringify(value ?? null);
        return [make("div", { dir: "auto" }, label, wrong ? make("mark", { class: kind }, leaf) : leaf, wrong ? make("span", { class: `is ${kind}` }, signs[kind]) : null)];
      }
      const list = Array.isArray(value);
      const inner = Object.entries(value).flatMap(([key, each]) => lines(each, list ? `${path}[${key}]` : path ? `${path}.${key}` : key, list ? `[${key}]` : key, name ? depth + 1 : depth, side));
      return name ? [make("div", {}, label), ...inner] : inner;
    };
    return make("div", { class: "objects" }, both.map((one, side) => make("div", { class: "plain" }, make("p", { class: "facts" }, side ? "prediction" : "gold"),
      one === undefined || one === null ? make("p", { class: "quiet" }, "none") : typeof one === "object" ? lines(one, "", "", 0, side) : String(one))));
  }

  function answer(run, gold) {
    const said = run.prediction ?? {};
    if (said.answer === undefined && said.label === undefined) return null;
    const out = [];
    if (said.label !== undefined) {
      const right = folded(said.label) === folded(gold?.label);
      out.push(make("p", {}, make("span", { class: right ? "good" : "bad" }, right ? "✓ " : "✗ "), make("span", { class: "said" }, String(said.label || "(none)")),
        said.secondary_labels?.length ? ` and ${said.secondary_labels.join(", ")}` : "", gold && gold.label !== undefined && !right ? make("span", { class: "quiet" }, ` gold: ${gold.label}`) : null));
    }
    if (said.answer !== undefined) out.push(long(said.answer === "" || said.answer === null ? "(no answer)" : said.answer, "plain said"));
    if (typeof said.confidence === "number") out.push(make("p", { class: "facts" }, `confidence ${said.confidence.toFixed(3)}`));
    return make("div", {}, out, claims(said), citations(said));
  }

  /* A verdict as its sign and word; one that did not come back is unknown. */
  function verdict(value) {
    if (value === null || value === undefined) return make("span", { class: "quiet" }, "? unknown");
    const yes = value === true || /^(entail|support|yes|true)/i.test(String(value));
    return make("span", { class: yes ? "good" : "bad" }, yes ? "✓ " : "✗ ", typeof value === "boolean" ? (yes ? "supported" : "not supported") : String(value));
  }
  const verdicts = (several) => (several ?? []).map((one, place) => [`${place + 1} `, verdict(one), " "]);

  function table(caption, heads, rows) {
    return make("div", { class: "scroll" }, make("table", { class: "compact" }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows.map((cells) => make("tr", {}, cells.map((cell, place) =>
        place ? make("td", {}, cell) : make("th", { scope: "row", dir: "auto" }, cell)))))));
  }

  /* Claims of the answer and of gold, each with what supports it. */
  function claims(said) {
    const tables = said.support && typeof said.support === "object" ? said.support : {};
    const sides = [["answer", "Claims of the answer", "gold says so", tables.answer_by_gold], ["gold", "Claims of gold", "the answer says so", tables.gold_by_answer]];
    const out = sides.map(([name, caption, head, one]) => {
      const passages = tables[`${name}_by_context`];
      const n = Math.max(one?.length ?? 0, passages?.length ?? 0);
      if (!n) return null;
      const heads = ["claim", one ? head : null, passages ? "passage by passage" : null].filter(Boolean);
      return table(caption, heads, Array.from({ length: n }, (_, at) => [String(said[`${name}_claims`]?.[at] ?? `claim ${at + 1}`),
        ...(one ? [verdict(one[at])] : []), ...(passages ? [verdicts(passages[at])] : [])]));
    });
    const plain = Array.isArray(said.claims) && said.claims.length ? make("ul", { class: "errors" },
      said.claims.map((one) => make("li", { dir: "auto" }, typeof one === "object" ? JSON.stringify(one) : String(one)))) : null;
    return [out, plain ? [make("p", { class: "facts" }, "claims"), plain] : null];
  }

  /* Sentences with what they cite: whether it entails them together, and each by itself. Bare ids are marked in the passages. */
  function citations(said) {
    const judged = (Array.isArray(said.citations) ? said.citations : []).filter((one) => one && typeof one === "object" && "together" in one);
    return judged.length ? table("Sentences and what they cite", ["sentence", "all cited together", "each alone"],
      judged.map((one) => [String(one.sentence ?? ""), verdict(one.together), verdicts(one.alone)])) : null;
  }

  const bare = (value) => value === null || value === "" || (Array.isArray(value) && !value.length);
  const flat = (value) => typeof value !== "object" || Object.values(value).every((one) => typeof one !== "object");
  const line = (value) => typeof value !== "object" ? String(value) : Array.isArray(value) ? value.join("; ")
    : Object.entries(value).map(([name, one]) => `${name}: ${one}`).join("; ");
  const short = (value) => flat(value) && line(value).length <= 80;

  /* What nothing else shows, the short first; in long texts the words of `needles` are marked. */
  function rest(record, known, needles = []) {
    const rows = Object.entries(record ?? {}).filter(([name, value]) => !known.has(name) && !bare(value));
    if (!rows.length) return null;
    rows.sort((a, b) => short(b[1]) - short(a[1]));
    return make("dl", { class: "fields" }, rows.map(([name, value]) => [make("dt", {}, name.replaceAll("_", " ")),
      make("dd", {}, short(value) ? make("span", { dir: "auto" }, line(value))
        : needles.length && typeof value === "string" && value.length <= LONG ? make("div", { class: "plain" }, within(value, needles)) : long(typeof value === "string" ? value : JSON.stringify(value, null, 1), "plain"))]));
  }

  function calls(run) {
    const made = run.calls ?? [];
    if (!made.length) return null;
    return make("details", { class: "calls" }, make("summary", {}, `Prompt and raw answer (${made.length} call${made.length > 1 ? "s" : ""})`),
      made.map((call, place) => make("div", {}, make("p", { class: "facts" }, `${made.length > 1 ? `Call ${place + 1}: ` : ""}${call.lm ?? ""}${call.seconds !== undefined ? `, ${call.seconds.toFixed(2)} s` : ""}`),
        (call.prompt ?? []).map((one) => [make("p", { class: "facts" }, one.role), code(one.content)]),
        make("p", { class: "facts" }, call.error ? "error" : "answer"), code(call.error ?? call.answer ?? ""))));
  }

  const code = (text) => long(text, "", "pre");

  function one(run, example, name, place, several, isBeside) {
    const gold = example.gold ?? {};
    const text = typeof example.inputs?.text === "string" ? example.inputs.text : null;
    const usage = run.usage ?? {};
    const facts = [`score ${run.score.toFixed(3)}`, ...Object.entries(run.values ?? {}).filter(([key]) => key !== "score").map(([key, value]) => `${key} ${value.toFixed(3)}`)];
    const spent = [run.latency_s !== undefined ? `${run.latency_s.toFixed(3)} s` : null, usage.calls ? `${usage.calls} calls` : null,
      usage.prompt_tokens ? `${usage.prompt_tokens} + ${usage.completion_tokens} tokens` : null, run.usd ? `$${run.usd}` : null,
      run.truncated ? "the answer was cut at its length limit" : null].filter(Boolean);
    const [ours, theirs] = [spans(gold), spans(run.prediction)];
    return make("section", { class: "run", "aria-label": name },
      several ? make("h3", {}, make("span", { class: `key k${place % 7}` }), name) : null,
      make("p", { class: "facts" }, facts.join(" · "), run.repeats ? `: the means of ${run.repeats} answers, the first of which is shown` : null),
      run.error ? make("p", { class: "fail" }, `Failed: ${run.error}`) : null,
      text !== null && (ours.length || theirs.length) ? marked(text, ours, theirs) : null,
      answer(run, gold), !isBeside && run.steps ? goldassay.steps.tree(run.steps, { wrong: run.wrong_step }) : null, records(run, gold), triples(run, gold), passages(run, gold), rest(run.prediction, KNOWN),
      (run.errors ?? []).length ? make("div", {}, make("p", { class: "facts" }, "What was wrong"), make("ul", { class: "errors" },
        run.errors.slice(0, 200).map((error) => make("li", { dir: "auto" }, make("span", { class: "chip" }, String(error.kind).replaceAll("_", " ")), " ", String(error.message))))) : null,
      spent.length ? make("p", { class: "facts" }, spent.join(" · ")) : null,
      calls(run));
  }

  /* `which`: the run whose steps are shown next to those of the first, if both have any. */
  goldassay.render = function (example, names, which = 0) {
    const gold = example.gold ?? {};
    const several = example.runs.length > 1;
    const marks = typeof example.inputs?.text === "string" && (spans(gold).length || example.runs.some((run) => spans(run.prediction).length));
    const facets = Object.entries(example.facets ?? {}).map(([name, value]) => make("span", { class: "chip" }, `${name} ${value}`));
    const inputs = Object.entries(example.inputs ?? {}).filter(([name]) => !(marks && name === "text"));
    const link = make("a", { href: `#example=${encodeURIComponent(example.id)}`, class: "quiet" }, "link");
    const known = new Set(["entities", "links", "triples", "relevant", "record", "calls", ...(marks ? ["text"] : [])]);
    const pair = [0, which].map((at) => ({ name: names[at], steps: example.runs[at].steps, wrong: example.runs[at].wrong_step }));
    const isBeside = which > 0 && pair.every((side) => side.steps);
    return make("div", {},
      make("h2", {}, example.id, " ", link), make("p", {}, facets.flatMap((one) => [one, " "])),
      example.inputs ? null : make("p", { class: "note" }, "This run was made without trace: inputs, gold and prompts were not kept."),
      inputs.map(([name, value]) => {
        const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
        return [make("p", { class: "facts" }, name), text.match(PICTURE)?.map((src) => make("img", { class: "picture", src, alt: name })) ?? long(text, "plain")];
      }),
      rest(gold, known) || gold.calls ? make("div", {}, make("h3", {}, "Gold"), goldassay.steps.calls(gold.calls), rest(gold, known, (gold.answers ?? []).filter((one) => typeof one === "string"))) : null,
      marks ? legend() : null, isBeside ? goldassay.steps.sideBySide(pair) : null,
      make("div", { class: "columns" }, example.runs.map((run, place) => one(run, example, names[place], place, several, isBeside && (!place || place === which)))));
  };
})();
