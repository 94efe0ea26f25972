// Before the first paint: the theme that was chosen here, or the system's.
const system = matchMedia("(prefers-color-scheme: dark)");
const show = () => {
  const chosen = localStorage.getItem("theme") ?? (system.matches ? "dark" : "light");
  document.documentElement.dataset.bsTheme = chosen;
};
system.addEventListener("change", show);
addEventListener("storage", show);
show();
