// A document with the evidence in it: its whole text, the bytes that matter marked and in sight.

import { memory, part } from "../api.js";
import { fill, h } from "../dom.js";
import { moment, number, plural } from "../format.js";
import { chip, empty, shown } from "../parts.js";
import { byteIndex, reader, reveal } from "../reader.js";
import { link } from "../route.js";

const kept = new Map(); // the last documents, so that going from hit to hit asks for none twice
const KEPT = 12;
const WHOLE = 0.95; // of a document: evidence that is all of it is not marked
const SHORT = 300; // characters of a document that is marked all the same

const fetched = (id) => {
  if (!kept.has(id)) {
    kept.set(id, memory.get(`artifacts/${part(id)}`).catch((error) => { kept.delete(id); throw error; }));
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  return kept.get(id);
};

/** Show the documents of some evidence ({document_id, document_start, document_end}), the first in sight. */
export function documentPane(pane, evidence, { still = () => true, head = null } = {}) {
  const mine = pane.turn = (pane.turn ?? 0) + 1;
  const now = () => still() && pane.turn === mine;
  if (!evidence.length) { fill(pane, head, empty("No source", "Nothing says where this comes from.")); return; }
  const first = evidence[0];
  const id = first.document_id ?? first.artifact_id;
  const ranges = evidence.filter((one) => (one.document_id ?? one.artifact_id) === id && one.document_start !== null && one.document_start !== undefined);
  shown(pane, fetched(id), (document) => {
    const at = byteIndex(document.text);
    const found = ranges.map((one, index) => ({ start: at(one.document_start), end: at(one.document_end), here: index === 0 }));
    const marks = found.filter((one) => one.end - one.start < WHOLE * document.text.length || document.text.length < SHORT);
    const text = reader(document.text, marks, { label: title(document) });
    requestAnimationFrame(() => reveal(text));
    const others = new Set(evidence.map((one) => one.document_id ?? one.artifact_id)).size - 1;
    return [h("header", {}, h("div", { class: "breaks" }, h("h2", {}, h("a", { href: link("artifacts", document.id, { start: first.document_start, end: first.document_end }) }, title(document))), facts(document)), head),
      h("div", { class: "pane-body" }, text), others > 0 ? h("p", { class: "padded-in small muted" }, `Also in ${plural(others, "other document")}.`) : null];
  }, { still: now });
}

/** What a document is called: its first heading or line, else its source. */
export function title(artifact) {
  const line = (artifact.text ?? "").slice(0, 600).split("\n").find((one) => one.trim()) ?? "";
  const clean = line.replace(/^#+\s*/, "").trim();
  return clean.length > 90 ? `${clean.slice(0, 89)}…` : clean || artifact.source || artifact.id;
}

/** Where a text comes from, on a line. A link only where it leads to the web. */
export function facts(artifact) {
  const source = artifact.source && (/^https?:\/\//i.test(artifact.source)
    ? h("a", { class: "one-line", title: artifact.source, href: artifact.source, rel: "noopener noreferrer", target: "_blank" }, artifact.source)
    : h("span", { class: "one-line", title: artifact.source }, artifact.source));
  return h("div", { class: "line small muted" }, chip(artifact.role), source,
    artifact.session_id ? h("a", { href: link("sessions", artifact.session_id) }, `session ${artifact.session_id}`) : null,
    artifact.valid_at ? h("span", {}, `true on ${moment(artifact.valid_at)}`) : null, h("span", {}, `stored ${moment(artifact.created_at)}`),
    artifact.tokens ? h("span", {}, `${number(artifact.tokens)} tokens`) : null);
}
