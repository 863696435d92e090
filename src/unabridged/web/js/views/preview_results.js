// What came of it: figures, a plot, and the chunks, beside each other or in the document.

import { append, calm, fill, h } from "../dom.js";
import { decimal, money, number, plural } from "../format.js";
import { chip, figures, note, table, tabs } from "../parts.js";
import { plot } from "../plot.js";

const AT_ONCE = 120; // chunks drawn before somebody scrolls on
const BLOCK = 8; // stretches of a document that are laid out together
let mode = "chunks";

export function resultsOf(answers, state) {
  const text = state.document.text;
  const made = answers.filter((one) => one.chunks);
  const columns = h("div", { class: "columns", data: { count: answers.length } });
  const places = new Map();
  const draw = () => fill(columns, answers.map((one) => {
    const column = columnOf(one, text, state);
    places.set(one, column);
    return column.element;
  }));
  draw();
  const pick = (result, at) => places.get(result)?.show(at);
  return [
    made.length ? h("div", { class: "panel padded" }, plot(made, text.length, pick)) : null,
    made.length > 1 ? h("div", { class: "panel" }, comparison(made, state)) : null,
    made.length ? h("div", { class: "line spread" },
      tabs("How chunks are shown", [["chunks", "Chunk by chunk"], ["document", "In the document"]], mode, (value) => { mode = value; draw(); }),
      h("span", { class: "small muted" }, state.question.trim() ? "Numbered chips: the chunks that fit the question best, by their words." : "")) : null,
    columns,
  ];
}

const embedding = (one, state) => (state.price === "" ? null : one.stats.total_tokens * Number(state.price) / 1e6);

const comparison = (made, state) => table("The methods in numbers", [
  { name: "Method", value: (one) => one.name === one.method ? one.method : `${one.name} (${one.method})` },
  { name: "Chunks", num: true, value: (one) => number(one.stats.n) },
  { name: "Tokens in all", num: true, value: (one) => number(one.stats.total_tokens) },
  { name: "Smallest", num: true, value: (one) => number(one.stats.min) },
  { name: "Median", num: true, value: (one) => decimal(one.stats.median) },
  { name: "Mean", num: true, value: (one) => decimal(one.stats.mean) },
  { name: "Largest", num: true, value: (one) => number(one.stats.max) },
  { name: "Over the cap", num: true, value: (one) => number(one.stats.over_cap) },
  { name: "To embed", num: true, value: (one) => money(embedding(one, state)) },
], made);

function columnOf(one, text, state) {
  const head = h("header", {}, h("h2", {}, one.name), one.method !== one.name ? chip(one.method, "warn") : null);
  const notes = (one.warnings ?? []).map((line) => note(line, "warn"));
  if (one.error) return still(h("section", { class: "panel" }, head, h("div", { class: "padded-in" }, note(one.error, "bad"))));
  if (!one.chunks) return still(h("section", { class: "panel" }, head, h("div", { class: "padded-in stack tight" }, unpaid(one.cost), notes)));
  const numbers = [["chunks", number(one.stats.n)], ["tokens", number(one.stats.total_tokens)], ["median", decimal(one.stats.median)]];
  if (one.stats.overlap_tokens) numbers.push(["shared", number(one.stats.overlap_tokens)]);
  if (state.price !== "") numbers.push(["to embed", money(embedding(one, state))]);
  if (one.trace.calls) numbers.push(["model calls", number(one.trace.calls)], ["spent", money(one.trace.cost_usd)]);
  const body = mode === "chunks" ? cards(one, text) : inDocument(one, text);
  return { element: h("section", { class: "panel column", "aria-label": `${one.name}: ${plural(one.stats.n, "chunk")}` }, head, h("div", { class: "padded-in stack tight" }, figures(numbers), notes), body.element), show: body.show };
}
const still = (element) => ({ element, show() {} });

const unpaid = (cost) => h("div", { class: "note warn" }, h("strong", {}, `Calls ${cost.model}`),
  h("span", {}, `about ${plural(cost.calls, "call")}, ${number(cost.tokens_in)} tokens in, ${number(cost.tokens_out)} out: ${money(cost.usd)}. Its chunks are shown once you have asked for it.`));

// -- chunk by chunk -----------------------------------------------------------------------------------------

function cards(one, text) {
  const list = h("ol", { class: "chunks" });
  let drawn = 0;
  const rank = new Map(one.hits.map((at, place) => [at, place + 1]));
  const more = h("button", { type: "button", class: "button little", onClick: () => until(drawn + AT_ONCE) });
  const until = (count) => {
    const to = Math.min(one.chunks.length, count);
    for (; drawn < to; drawn += 1) list.append(card(one, drawn, text, rank.get(drawn)));
    more.hidden = drawn >= one.chunks.length;
    more.textContent = `${number(one.chunks.length - drawn)} more`;
  };
  until(AT_ONCE);
  const show = (at) => { until(at + 10); flash(list.children[at]); };
  return { element: h("div", { class: "chunk-list" }, list, h("div", { class: "line padded-in" }, more)), show };
}

function card(one, at, text, rank) {
  const chunk = one.chunks[at];
  const before = at ? one.chunks[at - 1].end : 0;
  const shared = chunk.overlap && chunk.words === undefined ? Math.min(before, chunk.end) : chunk.start;
  const places = [chunk.page && `page ${chunk.page}`, chunk.section && `§ ${chunk.section}`];
  return h("li", { class: ["chunk", `band${at % 6}`], tabindex: "-1" },
    h("div", { class: "meta" }, h("strong", {}, at + 1), h("span", {}, plural(chunk.tokens, "token")),
      chunk.overlap ? h("span", {}, `${number(chunk.overlap)} shared`) : null, places.filter(Boolean).map((each) => h("span", { class: "where", title: each }, each)),
      rank ? chip(`${rank}. for the question`, "good") : null),
    h("div", { class: "text", dir: "auto" },
      chunk.prefix ? h("span", { class: "added", title: "Added: not in the document" }, chunk.prefix) : null,
      chunk.words !== undefined ? h("span", { class: "added", title: "Written by a model" }, chunk.words)
        : [shared > chunk.start ? h("span", { class: "shared", title: "Shared with the chunk before" }, text.slice(chunk.start, shared)) : null, text.slice(Math.max(shared, chunk.start), chunk.end)]));
}

// -- in the document ----------------------------------------------------------------------------------------

function inDocument(one, text) {
  const made = h("div", { class: "reader bands", dir: "auto" });
  const starts = [];
  const cuts = [...new Set([0, text.length, ...one.chunks.flatMap((chunk) => [chunk.start, chunk.end])])].sort((a, b) => a - b);
  let first = 0;
  let block = h("div", {}); // begun anew at line ends, so that what is out of sight is not laid out
  made.append(block);
  for (let at = 0; at + 1 < cuts.length; at += 1) {
    const [start, end] = [cuts[at], cuts[at + 1]];
    while (first < one.chunks.length && one.chunks[first].end <= start) first += 1;
    const over = [];
    for (let next = first; next < one.chunks.length && one.chunks[next].start <= start; next += 1) if (one.chunks[next].end > start) over.push(next);
    const band = h("span", { class: over.length > 1 ? "shared" : over.length ? `band${over[0] % 6}` : "gap" });
    for (const index of over) if (one.chunks[index].start === start) {
      starts[index] = band;
      append(band, h("span", { class: "cutmark", title: plural(one.chunks[index].tokens, "token") }, index + 1));
    }
    append(band, text.slice(start, end));
    block.append(band);
    if (block.childNodes.length >= BLOCK && text[end - 1] === "\n") made.append(block = h("div", {}));
  }
  return { element: h("div", { class: "padded-in" }, made), show: (at) => flash(starts[at]) };
}

function flash(element) {
  if (!element) return;
  element.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
  for (const each of document.querySelectorAll(".picked")) each.classList.remove("picked");
  element.classList.add("picked");
}
