// Before the first paint, so that nothing flashes: the theme that was chosen, else the system's.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("unabridged.theme");
  } catch {
    // storage is off: the system's theme it is
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
