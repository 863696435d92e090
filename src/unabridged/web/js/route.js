// Where the page is, and links to other places in it: a view, what follows it, and a query, after the #.

import { currentDataset } from "./api.js";

const decoded = (piece) => { try { return decodeURIComponent(piece); } catch { return piece; } };

/** Where the page is now. */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return { view: view || "preview", rest: rest.map(decoded), query: new URLSearchParams(query) };
}

/** The address of a view, for a link; the dataset that is chosen stays chosen. */
export function link(view, rest = [], query = {}) {
  const shown = new URLSearchParams();
  const given = currentDataset() === "default" ? query : { dataset: currentDataset(), ...query };
  for (const [name, value] of Object.entries(given)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") shown.append(name, each);
    }
  }
  const path = [view, ...[rest].flat().map(encodeURIComponent)].join("/");
  return `#/${path}${shown.size ? `?${shown}` : ""}`;
}

/** Go somewhere; `quietly` changes the address and draws nothing anew. */
export function go(view, rest, query, { quietly = false } = {}) {
  const to = link(view, rest, query);
  if (quietly) history.replaceState(null, "", to);
  else if (location.hash === to) dispatchEvent(new Event("hashchange"));
  else location.hash = to;
}

/** What the drawings ask of the server, by the address: they are asked before their view is loaded. */
export const graphOf = (query) => ["graph", { limit: query.get("limit") ?? 5000, around: query.get("around"), type: query.getAll("type") }];
export function cloudOf(query) {
  const [table, role] = (query.get("of") ?? "artifacts:").split(":");
  return ["graph/vectors", { table, role: role || null, method: query.get("method") ?? "pca" }];
}
