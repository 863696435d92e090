// Images: what each shows, the text that it goes with, the entities on it.

import { memory, part } from "../api.js";
import { bring, fill, h } from "../dom.js";
import { moment, opening } from "../format.js";
import { chip, empty, growing, shown } from "../parts.js";
import { kindOf, large, named, small, watching } from "../pictures.js";
import { link } from "../route.js";

const PAGE = 40;

export default async function images(root, { heading, rest, query, still }) {
  let chosen = rest[0] ?? null;
  const filters = { session_id: query.get("session"), artifact: query.get("artifact") };
  const kept = { session: query.get("session"), artifact: query.get("artifact") };
  const watch = watching();
  const grid = h("ul", { class: "thumbs" });
  const pane = h("section", { class: "panel pane tall", "aria-label": "Image" });
  const list = growing(grid, (cursor) => memory.get("images", { ...filters, limit: PAGE, cursor, newest_first: true }),
    (one) => h("li", {}, h("a", { class: "thumb-link", href: link("images", one.id, kept), "aria-current": String(one.id === chosen), data: { id: one.id } },
      small(one, watch), h("span", { class: "one-line small", dir: "auto" }, one.caption || kindOf(one)))),
    { none: empty("No images", "An image that is remembered with a text, or by itself, appears here with what it shows."), counted: (found) => { pane.hidden = !found && chosen === null; } });
  const narrowed = filters.session_id || filters.artifact
    ? h("header", { class: "line" }, chip(filters.session_id ? `session ${filters.session_id}` : "of one text"), h("a", { class: "button little", href: link("images") }, "All images")) : null;
  fill(root, h("div", { class: "head" }, heading), h("div", { class: "artifact-layout" },
    h("section", { class: "panel stack-list", "aria-label": "Images" }, narrowed, grid, h("div", { class: "padded-in" }, list.place)), pane));
  let turn = 0;
  const show = () => {
    const mine = ++turn;
    if (chosen === null) fill(pane, empty("Choose an image", "It is shown with its caption, its text, and the entities on it."));
    else shown(pane, one(chosen), (parts) => parts, { still: () => still() && mine === turn });
  };
  show();
  await list.first();
  return {
    leave: () => { list.stop(); watch.stop(); },
    update: ({ rest: now, query: asked }) => {
      if (["session", "artifact"].some((name) => asked.get(name) !== query.get(name))) return false;
      chosen = now[0] ?? null;
      for (const each of grid.querySelectorAll("a")) each.setAttribute("aria-current", String(each.dataset.id === chosen));
      show();
      bring(pane);
      return true;
    },
  };
}

async function one(id) {
  const image = await memory.get(`images/${part(id)}`);
  const [text, entities, picture] = await Promise.all([
    image.artifact_id ? memory.get(`artifacts/${part(image.artifact_id)}`).catch(() => null) : null, entitiesOn(id), large(image)]);
  return [
    h("header", {}, h("div", { class: "breaks" }, h("h2", { dir: "auto" }, named(image)), h("div", { class: "line small muted" },
      image.session_id ? h("a", { href: link("sessions", image.session_id) }, `session ${image.session_id}`) : null, h("span", {}, `stored ${moment(image.created_at)}`)))),
    h("div", { class: "pane-body stack" }, h("figure", { class: "stack tight" }, picture),
      entities.length ? h("section", { class: "stack tight", "aria-label": "Entities on it" }, h("h3", {}, "On it"), h("div", { class: "line" }, entities.map((each) => h("a", { class: "chip", href: link("entity", each.id), title: each.type }, each.name)))) : null,
      text ? h("section", { class: "stack tight", "aria-label": "Its text" }, h("h3", {}, "Goes with"), h("a", { class: "row-link boxed", href: link("artifacts", text.id) }, h("span", { class: "clamp serif", dir: "auto" }, opening(text.text, 300)), h("span", { class: "small muted" }, [text.role, text.source].filter(Boolean).join(" · ")))) : null),
    known(image)];
}

async function entitiesOn(id) {
  const { items } = await memory.get("links", { type: "entity_image", to_id: id, limit: 100 });
  const found = await Promise.all(items.map((each) => memory.get(`entities/${part(each.from_id)}`).catch(() => null)));
  return found.filter(Boolean);
}

function known(image) {
  const rows = [["Id", image.id], ["SHA-256", image.sha256], ["Type", image.media_type],
    ...["metadata", "provenance"].map((name) => [name, Object.keys(image[name] ?? {}).length ? JSON.stringify(image[name], null, 1) : null])];
  return h("details", { class: "padded-in" }, h("summary", { class: "small" }, "What is known of it"),
    h("dl", { class: "known" }, rows.filter(([, value]) => value).map(([key, value]) => [h("dt", {}, key), h("dd", { class: "mono breaks", dir: "auto" }, value)])));
}
