// Before the first paint: the theme that was chosen, so that nothing flashes; and the files of the view that the
// address names, so that they are on their way together and not one after the other has said what it needs.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("unabridged.theme");
  } catch {
    // storage is off: the system's theme it is
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;

  const needs = {
    artifacts: ["reader", "pictures", "views/artifacts", "views/document", "views/facts"],
    entity: ["pictures", "views/entity", "views/facts"],
    graph: ["raster", "scene", "views/facts", "views/graph"],
    images: ["pictures", "views/images"],
    inferences: ["chart", "views/inferences"],
    jobs: ["views/jobs"],
    preview: ["plot", "sample", "views/preview", "views/preview_open", "views/preview_recipe", "views/preview_results"],
    search: ["reader", "views/document", "views/search"],
    series: ["chart", "views/series"],
    sessions: ["pictures", "views/sessions"],
    settings: ["views/settings"],
    vectors: ["raster", "scene", "views/vectors"],
  };
  const view = location.hash.replace(/^#\/?/, "").split(/[/?]/)[0] || "preview";
  const base = document.currentScript.src;
  for (const name of needs[view] ?? []) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = new URL(`${name}.js`, base).href;
    document.head.append(link);
  }
})();
