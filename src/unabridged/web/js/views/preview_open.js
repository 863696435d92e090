// Ways to a document: a text that is pasted, a file of a folder that the server may read.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { bytes } from "../format.js";
import { button, dialog, field, icon, shown } from "../parts.js";

export function openText(paste) {
  const area = h("textarea", { rows: 12, spellcheck: "false" });
  const made = dialog("Paste a text", field("Text", area, "Markdown headings are understood."),
    h("div", { class: "line" }, button("Cut it", () => { if (area.value.trim()) { made.close(); paste(area.value); } }, { kind: "main" }), button("Cancel", () => made.close(), { kind: "quiet" })));
  area.focus();
}

/** Walk through the configured folders; `choose({folder, path})` with the file that was picked. */
export function openFolder(names, choose) {
  const list = h("div", {});
  const trail = h("nav", { class: "line small", "aria-label": "Folder" });
  const made = dialog("Open a file of the server", trail, list, h("div", {}, button("Cancel", () => made.close(), { kind: "quiet" })));
  made.classList.add("wide");
  const roots = () => {
    fill(trail, "Folders");
    fill(list, h("ul", { class: "rows" }, names.map((name, at) => row("folder", name, null, () => walk(at, "")))));
  };
  const walk = (folder, path) => {
    const parts = path ? path.split("/") : [];
    fill(trail, button("Folders", roots, { kind: "quiet little" }), "/", button(names[folder], () => walk(folder, ""), { kind: "quiet little" }),
      parts.map((part, at) => ["/", button(part, () => walk(folder, parts.slice(0, at + 1).join("/")), { kind: "quiet little" })]));
    shown(list, get(`v1/gb/preview/folders/${folder}`, { path }), (found) => [
      found.entries.length ? h("ul", { class: "rows" }, found.entries.map((entry) => row(entry.kind, entry.name, entry.size,
        () => { if (entry.kind === "folder") walk(folder, entry.path); else { made.close(); choose({ folder, path: entry.path }); } })))
        : h("p", { class: "muted" }, "Nothing here that can be previewed."),
      found.more ? h("p", { class: "small muted" }, "There is more than is listed here.") : null]);
  };
  if (names.length === 1) walk(0, ""); else roots();
}

const row = (kind, name, size, onClick) =>
  h("li", {}, h("button", { type: "button", class: "row-link file", onClick }, icon(kind === "folder" ? "folder" : "file"), h("span", { dir: "auto" }, name),
    h("span", { class: "small muted" }, kind === "folder" ? "folder" : `${kind} · ${bytes(size)}`)));
