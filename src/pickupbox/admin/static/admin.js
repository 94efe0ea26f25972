// What every page needs of a script: times in the viewer's zone, the theme, copying, and forms that are sent once.

const page = document.documentElement.lang;
const lang = navigator.language.startsWith(page) ? navigator.language : page; // en-GB has its own way to write a date
const relative = new Intl.RelativeTimeFormat(lang, { numeric: "auto" });
const steps = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const format = {
  moment: new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" }),
  exact: new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "medium" }),
  clock: new Intl.DateTimeFormat(lang, { timeStyle: "short" }),
  day: new Intl.DateTimeFormat(lang, { dateStyle: "medium" }),
};

const inWords = (at) => {
  const seconds = Math.round((at - Date.now()) / 1000);
  const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? steps.at(-1);
  return relative.format(Math.trunc(seconds / size), unit);
};
const sameDay = (at) => new Date(at).toDateString() === new Date().toDateString();

const write = (time) => {
  const at = Date.parse(time.dateTime);
  const style = time.dataset.show;
  if (style === "ago") time.textContent = inWords(at);
  else if (style === "until" || style === "clock") time.textContent = (sameDay(at) ? format.clock : format.moment).format(at);
  else time.textContent = (format[style] ?? format.moment).format(at);
};
const writeAll = (root) => root.querySelectorAll("time[data-show]").forEach(write);
writeAll(document);
document.addEventListener("htmx:afterSettle", (event) => writeAll(event.target.parentElement ?? document));
document.addEventListener("htmx:sseMessage", (event) => writeAll(event.target));
setInterval(() => document.querySelectorAll('time[data-show="ago"]').forEach(write), 1000);

// Forms take times in the viewer's zone; without this script in UTC. A zone that was asked for stays.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const typed = (at) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
for (const chosen of document.querySelectorAll("input[name=zone][value='']")) {
  chosen.value = zone;
  chosen.form.querySelectorAll("[data-zone-name]").forEach((name) => { name.textContent = zone.replaceAll("_", " "); });
  chosen.form.querySelectorAll("input[data-at]").forEach((input) => {
    input.value = typed(input.dataset.at ? Date.parse(input.dataset.at) : new Date().setHours(0, 0, 0, 0));
  });
}

document.addEventListener("click", async (event) => {
  if (event.target.closest("[data-theme-switch]")) {
    const next = document.documentElement.dataset.bsTheme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", next);
    document.documentElement.dataset.bsTheme = next;
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(copy.dataset.copy);
    copy.classList.add("copied");
    setTimeout(() => copy.classList.remove("copied"), 1500);
  }
});

// A form that was sent is not sent twice by an impatient finger.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));
// A menu closes when one looks elsewhere.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelectorAll("details.menu[open]").forEach((menu) => { menu.open = false; menu.firstElementChild.focus(); });
});
