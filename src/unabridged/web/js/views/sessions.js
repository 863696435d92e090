// Sessions: the runs of users and agents, what each brought in, and what it cost.

import { memory } from "../api.js";
import { bring, fill, h } from "../dom.js";
import { money, moment, number, opening, plural } from "../format.js";
import { empty, figures, growing, shown, unwritten } from "../parts.js";
import { strip } from "../pictures.js";
import { link } from "../route.js";

export default async function sessions(root, { heading, rest, still }) {
  let chosen = named(rest);
  const list = h("ul", { class: "rows" });
  const pane = h("section", { class: "stack", "aria-label": "Session" });
  const rows = growing(list, (cursor) => memory.get("sessions", { limit: 50, cursor, newest_first: true }), (one) => h("li", {},
    h("a", { class: "row-link", href: link("sessions", one.id), "aria-current": String(one.id === chosen), data: { id: one.id } }, h("span", { dir: "auto", class: "breaks" }, one.id), h("span", { class: "small muted" }, `since ${moment(one.created_at)}`))),
  { none: unwritten("No sessions", "A text that is remembered with a session appears under it."), counted: (found) => { pane.hidden = !found && chosen === null; } });
  fill(root, h("div", { class: "head" }, heading), h("div", { class: "artifact-layout" }, h("section", { class: "panel stack-list", "aria-label": "Sessions" }, list, h("div", { class: "padded-in" }, rows.place)), pane));
  const listed = rows.first();
  let turn = 0;
  const show = () => {
    const mine = ++turn;
    if (chosen === null) fill(pane, empty("Choose a session", "It shows the texts it brought in, the entities they name, and what was spent on them."));
    else one(pane, chosen, () => still() && mine === turn);
  };
  show();
  await listed;
  return {
    leave: () => rows.stop(),
    update: ({ rest: now }) => {
      chosen = named(now);
      for (const row of list.querySelectorAll("a")) row.setAttribute("aria-current", String(row.dataset.id === chosen));
      show();
      bring(pane);
      return true;
    },
  };
}

const named = (rest) => (rest.length ? rest.join("/") : null);

async function one(pane, id, still) {
  const texts = h("ul", { class: "rows" });
  const artifacts = growing(texts, (cursor) => memory.get("artifacts", { session_id: id, role: "document", limit: 20, cursor, newest_first: true }),
    (each) => h("li", {}, h("a", { class: "row-link", href: link("artifacts", each.id) }, h("span", { class: "clamp serif", dir: "auto" }, opening(each.text, 260)), h("span", { class: "small muted" }, [each.source, moment(each.created_at)].filter(Boolean).join(" · ")))),
    { none: empty("No texts", "") });
  const cost = h("div", { class: "panel padded" });
  const entities = h("div", { class: "panel padded" });
  const measured = h("div", { class: "panel padded", hidden: true });
  const pictures = strip(memory.get("images", { session_id: id, limit: 12, newest_first: true }).then((page) => page.items), "Images", "panel padded");
  fill(pane, h("h2", { dir: "auto", class: "breaks" }, id), cost, h("div", { class: "panel" }, h("header", {}, h("h2", {}, "Texts"), h("a", { class: "button little", href: link("artifacts", [], { session: id }) }, "As a tree")), texts, h("div", { class: "padded-in" }, artifacts.place)), pictures, measured, entities);
  shown(cost, memory.get("inferences/cost", { session_id: id }), (found) => h("div", { class: "line spread" }, figures([["tokens read by models", number(found.tokens_in)], ["tokens written", number(found.tokens_out)], ["spent", money(found.cost)]]), h("a", { class: "button little", href: link("inferences", [], { session_id: id }) }, "Its model calls")), { still });
  shown(entities, memory.get("entities", { session_id: id, limit: 200 }), (found) => [h("h2", {}, plural(found.items.length, "entity", "entities"), found.cursor ? " and more" : ""),
    h("div", { class: "line" }, found.items.map((each) => h("a", { class: "chip", href: link("entity", each.id), title: each.type }, each.name)))], { still });
  memory.get("series", { session_id: id, limit: 50 }).then(({ items }) => {
    measured.hidden = !items.length;
    fill(measured, h("h2", {}, "Series"), h("div", { class: "line" }, items.map((each) => h("a", { class: "chip", href: link("series", each.id) }, each.name))));
  }).catch(() => {}); // beside what was asked for
  await artifacts.first();
}
