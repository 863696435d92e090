// Every text that is remembered: documents, their chunks, the summaries of those; each at its place.

import { memory, part } from "../api.js";
import { append, bring, fill, h } from "../dom.js";
import { moment, number, opening, plural } from "../format.js";
import { chip, empty, growing, note, select, shown, unwritten } from "../parts.js";
import { strip } from "../pictures.js";
import { byteIndex, reader, reveal } from "../reader.js";
import { go, link, place } from "../route.js";
import { facts, title } from "./document.js";
import { factLine } from "./facts.js";

const PAGE = 30;

export default async function artifacts(root, { heading, rest, query, still }) {
  let chosen = rest[0] ?? null;
  const tree = h("ul", { class: "tree", role: "tree", "aria-label": "Artifacts" });
  const pane = h("section", { class: "panel pane tall", "aria-label": "Text" });
  const filters = { session_id: query.get("session"), kind: query.get("kind"), newest_first: query.get("oldest") ? null : true };
  const count = h("span", { class: "muted" });
  const list = growing(tree, (cursor) => memory.get("artifacts", { role: "document", limit: PAGE, cursor, ...filters }),
    (one) => node(one, 1, () => chosen), {
      none: filters.session_id || filters.kind ? empty("No such texts", "None fits all of what was chosen.") : unwritten("Nothing remembered yet", "Texts appear here with their chunks and summaries."),
      counted: (found) => { pane.hidden = !found && !chosen; } });
  const order = select([["", "Newest first"], ["1", "Oldest first"]], query.get("oldest") ?? "", (value) => go("artifacts", chosen ? [chosen] : [], { ...Object.fromEntries(query), oldest: value }), { "aria-label": "Order" });
  const kinds = select([["", "Any kind"], ["knowledge", "Knowledge"], ["memory", "Memory"]], query.get("kind") ?? "", (value) => go("artifacts", [], { kind: value, session: query.get("session") }), { "aria-label": "Kind" });
  fill(root, h("div", { class: "head" }, heading, count), h("div", { class: "artifact-layout" },
    h("section", { class: "panel stack-list", "aria-label": "Documents" }, h("header", { class: "bar-row" }, order, kinds,
      filters.session_id ? chip(`session ${filters.session_id}`) : null), tree, h("div", { class: "padded-in" }, list.place)), pane));
  keyboard(tree);
  const listed = list.first().then(() => tree.querySelector("[role=treeitem]")?.setAttribute("tabindex", "0"));
  const show = (now) => {
    if (chosen) shownArtifact(pane, chosen, now, still);
    else fill(pane, empty("Choose a text", "Documents open into their chunks, chunks into their summaries."));
  };
  show(query);
  await listed;
  const same = (now) => ["session", "kind", "oldest"].every((name) => now.get(name) === query.get(name));
  return {
    leave: () => list.stop(),
    update: ({ rest: now, query: asked }) => {
      if (!same(asked)) return false;
      chosen = now[0] ?? null;
      for (const item of tree.querySelectorAll("[role=treeitem]")) item.setAttribute("aria-selected", String(item.dataset.id === chosen));
      show(asked);
      if (chosen) bring(pane);
      return true;
    },
  };
}

// -- the tree -------------------------------------------------------------------------------------------------

function node(one, level, chosen) {
  const inner = h("ul", { role: "group", hidden: true });
  const leaf = one.role !== "document" && one.role !== "chunk";
  const item = h("li", { role: "treeitem", "aria-level": level, "aria-expanded": leaf ? null : "false", "aria-selected": String(one.id === chosen()), tabindex: "-1", data: { id: one.id } },
    h("div", { class: "node", style: { "--level": String(level) } },
      leaf ? h("span", { class: "twist" }) : h("button", { type: "button", class: "twist", tabindex: "-1", "aria-hidden": "true", onClick: (event) => { event.stopPropagation(); item.toggle(); } }),
      h("a", { href: link("artifacts", one.id, kept()), tabindex: "-1" }, h("span", { class: "name", dir: "auto" }, name(one)), h("span", { class: "small muted" }, about(one)))), leaf ? null : inner);
  item.toggle = async (to = inner.hidden) => {
    inner.hidden = !to;
    item.setAttribute("aria-expanded", String(to));
    if (to && !inner.childNodes.length) {
      await shown(inner, memory.get(`artifacts/${part(one.id)}/children`), (found) => (found.length ? found.map((each) => node(each, level + 1, chosen)) : h("li", { class: "node small muted", style: { "--level": String(level + 1) } }, "Nothing hangs from it.")));
    }
  };
  return item;
}

/** What the list is narrowed to, which a link in it keeps. */
const kept = () => { const { query } = place(); return { session: query.get("session"), kind: query.get("kind"), oldest: query.get("oldest") }; };

const name = (one) => (one.role === "document" ? title(one) : one.role === "chunk" ? `${one.chunk_index + 1}. ${opening(one.text, 70)}` : opening(one.text, 80));
const about = (one) => (one.role === "chunk" ? [plural(one.tokens ?? 0, "token"), one.page && `page ${one.page}`, one.section].filter(Boolean).join(" · ")
  : one.role === "document" ? [one.kind, moment(one.created_at)].join(" · ") : one.role.replace("_", " "));

function keyboard(tree) {
  const rows = () => [...tree.querySelectorAll("[role=treeitem]")].filter((one) => !one.closest("[hidden]"));
  tree.addEventListener("keydown", (event) => {
    const item = event.target.closest?.("[role=treeitem]");
    if (!item) return;
    const all = rows();
    const here = all.indexOf(item);
    const open = item.getAttribute("aria-expanded");
    const done = {
      ArrowDown: () => focus(all[here + 1]), ArrowUp: () => focus(all[here - 1]), Home: () => focus(all[0]), End: () => focus(all[all.length - 1]),
      ArrowRight: () => (open === "false" ? item.toggle(true) : focus(item.querySelector("[role=treeitem]"))),
      ArrowLeft: () => (open === "true" ? item.toggle(false) : focus(item.parentElement.closest("[role=treeitem]"))),
      Enter: () => item.querySelector("a").click(), " ": () => item.querySelector("a").click(),
    }[event.key];
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
    done();
  });
  const focus = (item) => {
    if (!item) return;
    for (const one of tree.querySelectorAll("[tabindex='0'][role=treeitem]")) one.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
  };
}

// -- one of them ----------------------------------------------------------------------------------------------

async function shownArtifact(pane, id, query, viewed) {
  const mine = pane.turn = (pane.turn ?? 0) + 1;
  const still = () => viewed() && pane.turn === mine;
  const work = memory.get(`artifacts/${part(id)}`).then(async (one) => [one, one.document_id && one.role === "chunk" ? await memory.get(`artifacts/${part(one.document_id)}`) : one]);
  await shown(pane, work, ([one, whole]) => {
    const at = byteIndex(whole.text);
    const from = query.get("start") === null ? null : Number(query.get("start"));
    const marks = [];
    if (one.role === "chunk") marks.push({ start: at(one.start_offset), end: at(one.end_offset), here: true });
    else if (from !== null) marks.push({ start: at(from), end: at(Number(query.get("end") ?? from)), here: true });
    const text = reader(whole.text, marks, { label: title(whole) });
    requestAnimationFrame(() => reveal(text));
    return [
      h("header", {}, h("div", { class: "breaks" }, h("h2", { dir: "auto" }, title(whole)), facts(one),
        one.parent_id ? h("p", { class: "small" }, h("a", { href: link("artifacts", one.parent_id) }, one.role === "chunk" ? "The whole document" : "What it was made from")) : null)),
      h("div", { class: "pane-body" }, text, strip(memory.get("images", { artifact: whole.id, limit: 24 }).then((page) => page.items), "Images that go with it")), details(one)];
  }, { still });
}

function details(one) {
  const rows = [["Id", one.id], ["Kind", one.kind], ["Query", one.query], ["Bytes", one.start_offset === null ? null : `${number(one.start_offset)} – ${number(one.end_offset)}`],
    ["Splitter", one.splitter], ["Embedder", one.embedder], ["Expires", one.expires_at && moment(one.expires_at)], ["Graph made", one.processed_at && moment(one.processed_at)],
    ["Metadata", Object.keys(one.metadata ?? {}).length ? JSON.stringify(one.metadata, null, 1) : null], ["Provenance", Object.keys(one.provenance ?? {}).length ? JSON.stringify(one.provenance, null, 1) : null]];
  const known = h("details", { class: "padded-in" }, h("summary", { class: "small" }, "What is known of it"), h("dl", { class: "known" }, rows.filter(([, value]) => value).map(([key, value]) => [h("dt", {}, key), h("dd", { class: "mono breaks", dir: "auto" }, value)])));
  const graph = h("details", { class: "padded-in" }, h("summary", { class: "small" }, "What rests on it"));
  const place = h("div", {});
  append(graph, place);
  graph.addEventListener("toggle", () => graph.open && !place.childNodes.length && shown(place, memory.get(`artifacts/${part(one.id)}/contribution`), (found) => [
    h("div", { class: "line" }, found.entities.map((entity) => h("a", { class: "chip", href: link("entity", entity.id) }, entity.name))),
    found.edges.length || found.entities.length ? h("ul", { class: "rows facts" }, found.edges.map((edge) => h("li", {}, factLine(edge)))) : note("No entity and no fact rests on it.")]));
  return [graph, known];
}
