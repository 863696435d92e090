// Search: what matters for a question, each hit with its evidence, shown in its document at the very bytes.

import { get, memory } from "../api.js";
import { announce, bring, fill, h } from "../dom.js";
import { date, number, plural } from "../format.js";
import { bar, button, chip, empty, field, icon, note, select, shown, unwritten } from "../parts.js";
import { go, link } from "../route.js";
import { documentPane } from "./document.js";

const KINDS = [["", "Everything"], ["passage", "Passages"], ["fact", "Facts"], ["entity", "Entities"], ["summary", "Summaries"], ["document", "Whole documents"]];

export default async function search(root, { heading, query, still }) {
  const asked = Object.fromEntries(query);
  const input = h("input", { type: "search", value: asked.q ?? "", placeholder: "Ask in your own words", "aria-label": "Search the memory", autocomplete: "off" });
  const session = h("input", { type: "text", value: asked.session ?? "", placeholder: "any", spellcheck: "false" });
  const asOf = h("input", { type: "date", value: asked.as_of ?? "" });
  const history = h("input", { type: "checkbox", checked: asked.history === "1" });
  let kind = asked.kind ?? "";
  const hits = h("div", { class: "panel hits", "aria-label": "Hits", role: "region" });
  const pane = h("div", { class: "panel pane", role: "region", "aria-label": "Document" });
  const reply = h("div", {});
  const submit = () => go("search", [], { q: input.value.trim(), kind, session: session.value.trim(), as_of: asOf.value, history: history.checked ? "1" : null });
  const form = h("form", { class: "stack tight", role: "search", onSubmit: (event) => { event.preventDefault(); submit(); } },
    h("div", { class: "bar-row" }, h("div", { class: "grow" }, input), button("Search", null, { kind: "main", sign: "search", type: "submit" })),
    h("details", { open: Boolean(asked.kind || asked.session || asked.as_of || asked.history) }, h("summary", { class: "small" }, "Narrow it down"), h("div", { class: "bar-row" },
      field("Only", select(KINDS, kind, (value) => { kind = value; if (asked.q) submit(); })), field("Session", session), field("What was true on", asOf),
      h("label", { class: "check small" }, history, "Facts that have ended as well"))));
  fill(root, h("div", { class: "head" }, heading), form, reply, h("div", { class: "search-layout", hidden: !asked.q }, hits, pane));
  if (!asked.q) {
    root.append(empty("What does the memory know?", "Words and meaning are searched together, in passages, summaries, facts and entities. Every hit shows where it comes from."));
    input.focus({ preventScroll: true });
    return;
  }
  const body = { query: asked.q, limit: 20, explain: true, include_history: asked.history === "1" };
  if (kind) body.kinds = [kind];
  if (asked.session) body.session_id = asked.session;
  if (asked.as_of) body.as_of = asked.as_of;
  offer(reply, asked.q, body, still);
  await shown(hits, memory.post("recall", body), (found) => {
    announce(plural(found.hits.length, "hit"));
    return drawn(found, pane, still);
  }, { what: "Searching …", still });
}

/** The button that has a model answer, or why nothing can. */
async function offer(place, question, body, still) {
  const { llm } = await get("v1/gb/preview").catch(() => ({ llm: true })); // what cannot be known is tried
  if (still()) fill(place, llm ? button("Answer this with a model", () => answer(place, question, body), { kind: "little quiet" }) : h("p", { class: "small muted" }, "No chat model is configured (", h("code", {}, "chat"), "): passages are found, and nobody answers."));
}

/** Whether there is no text at all. */
const unwrittenYet = async () => !(await memory.get("artifacts", { limit: 1, text: false })).items.length;

async function drawn(found, pane, still) {
  pane.hidden = !found.hits.length;
  if (!found.hits.length) {
    if (!found.below && await unwrittenYet()) return unwritten("Nothing remembered yet", "What is remembered can be searched here.");
    return [degraded(found), empty("Nothing that fits", found.below ? `${plural(found.below, "candidate")} came up and had too little to do with it.` : "Try other words, or fewer of them.")];
  }
  const rows = found.hits.map((hit, at) => {
    const first = hit.evidence[0];
    const row = h("button", { type: "button", class: "row-link", "aria-current": "false", onClick: () => { open(at); bring(pane); } },
      h("span", { class: "hit-line small" }, chip(hit.kind), h("span", { class: "muted one-line", title: place(first) }, place(first)), h("span", { class: "score" }, bar(hit.score, `relevance ${number(hit.score * 100)} of 100`))),
      h("span", { class: "clamp serif", dir: "auto" }, said(hit.excerpt)),
      hit.lanes.length ? h("span", { class: "small muted" }, `found by ${hit.lanes.map((one) => `${one.lane} (${one.rank}.)`).join(", ")}`) : null);
    return row;
  });
  const open = (at) => {
    rows.forEach((row, index) => row.setAttribute("aria-current", String(index === at)));
    const hit = found.hits[at];
    if (hit.kind === "entity") {
      documentPane(pane, hit.evidence, { still, head: h("a", { class: "button little", href: link("entity", hit.id) }, "Timeline and sources") });
    } else documentPane(pane, narrowed(hit), { still });
  };
  open(0);
  return [
    h("header", {}, h("h2", {}, plural(found.hits.length, "hit")), found.below ? h("span", { class: "small muted" }, `${plural(found.below, "weaker one")} left out`) : null, packed(found.pack)),
    degraded(found),
    h("ol", { class: "rows", onKeydown: (event) => walk(event, rows, open) }, rows.map((row) => h("li", {}, row)))];
}

function walk(event, rows, open) {
  const here = rows.indexOf(document.activeElement);
  const to = { ArrowDown: here + 1, ArrowUp: here - 1 }[event.key];
  if (to === undefined || here < 0 || !rows[to]) return;
  event.preventDefault();
  rows[to].focus();
  open(to);
}

const said = ({ before, text, after }) => `${before ? "… " : ""}${text}${after ? " …" : ""}`;

const narrowed = ({ excerpt, evidence }) => evidence.map((one, at) => (at || excerpt.artifact_id !== one.artifact_id || one.document_start === null ? one
  : { ...one, document_start: one.document_start + excerpt.start, document_end: one.document_start + excerpt.end }));

const place = (one) => (one ? [one.source ?? one.artifact_role, one.page && `page ${one.page}`, one.section, date(one.valid_at ?? one.created_at)].filter(Boolean).join(" · ") : "");
const degraded = (found) => found.degraded.map((one) => note(`Searched without ${one.lane}: ${one.reason}.`, "warn"));

function packed(pack) {
  if (!pack?.text) return null;
  const copied = button("Copy as context", async () => {
    await navigator.clipboard.writeText(pack.text);
    announce("Copied");
    fill(copied, icon("copy"), "Copied");
  }, { kind: "little quiet", sign: "copy", title: `${number(pack.tokens)} tokens, with its sources, for a prompt` });
  return copied;
}

async function answer(place, question, options) {
  const { kinds, session_id: of_session, as_of, include_history } = options;
  await shown(place, memory.post("query", { question, kinds, of_session, as_of, include_history }), (found) => h("section", { class: "panel padded stack tight answer", "aria-label": "Answer" },
    h("h2", {}, !found.known ? "Not known" : found.sentences.length ? "Answer" : "No chat model is configured: what was found"),
    found.sentences?.length ? h("p", { class: "serif-text", dir: "auto" }, found.sentences.map((one) => [one.text, " ", one.citations.map((each, at) => h("a", { class: "cite", href: cited(each), title: each.quote ?? "" }, one.numbers[at] ?? at + 1)), " "]))
      : h("p", { class: "serif-text pre", dir: "auto" }, found.answer),
    found.dropped ? h("p", { class: "small muted" }, `${plural(found.dropped, "sentence")} left out: the sources do not bear them out.`) : null), { what: "Asking the model …" });
}

const cited = (one) => link("artifacts", one.document_id ?? one.artifact_id, { start: one.document_start, end: one.document_end });
