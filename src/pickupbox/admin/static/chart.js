// The overview's numbers and chart: hours come by UTC and are put together here to the viewer's days, also those that are
// told anew while the page is open; the table says the same.

const page = document.documentElement.lang;
const lang = navigator.language.startsWith(page) ? navigator.language : page;
const names = ["reserved", "loaded", "picked_up", "expired", "cancelled", "fault"];
const source = document.getElementById("figures");
const number = new Intl.NumberFormat(lang);
const dayName = new Intl.DateTimeFormat(lang, { weekday: "short", day: "numeric", month: "short" });
const shortDay = new Intl.DateTimeFormat(lang, { day: "numeric", month: "numeric" });
const hourName = new Intl.DateTimeFormat(lang, { weekday: "short", hour: "2-digit", minute: "2-digit" });
const shortHour = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit" });

const read = (text) => {
  const { first, hours } = JSON.parse(text);
  return hours.map((counts, index) => ({ at: first + index * 3600, counts: counts.slice(0, 6), inUse: counts[6] }));
};
let all = read(source.textContent);
const midnight = (seconds) => new Date(seconds * 1000).setHours(0, 0, 0, 0) / 1000;

const sumByDay = () => {
  const days = new Map();
  for (const hour of all) {
    const day = days.get(midnight(hour.at)) ?? { at: midnight(hour.at), counts: names.map(() => 0), inUse: 0 };
    day.counts = day.counts.map((count, index) => count + hour.counts[index]);
    day.inUse = hour.inUse;
    days.set(day.at, day);
  }
  return [...days.values()].slice(-14);
};
let days = sumByDay();

const showToday = () => {
  const today = days.at(-1);
  if (today?.at !== midnight(Date.now() / 1000)) return;
  [...names, "in_use"].forEach((name, index) => {
    document.querySelector(`[data-today="${name}"]`).textContent = number.format([...today.counts, today.inUse][index]);
  });
  const zone = document.querySelector("[data-zone]");
  zone.textContent = zone.dataset.viewers;
};
showToday();

const cell = (kind, text) => Object.assign(document.createElement(kind), { textContent: text });
const fillTable = (table, caption) => {
  table.replaceChildren(...[...days].reverse().map((day) => {
    const row = document.createElement("tr");
    const head = cell("th", dayName.format(day.at * 1000));
    head.scope = "row";
    row.append(head, ...[...day.counts, day.inUse].map((count) => cell("td", number.format(count))));
    return row;
  }));
  document.querySelector("[data-caption]").textContent = caption;
};

const hatch = (colour) => {
  const tile = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const shift of [-8, 0, 8]) { pen.moveTo(shift, 8); pen.lineTo(shift + 8, 0); }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
};

let redraw = () => {};
document.querySelector("[data-lately]").addEventListener("htmx:sseMessage", (event) => {
  const lately = read(event.detail.data);
  all = [...all.filter((hour) => hour.at < lately[0].at), ...lately];
  days = sumByDay();
  showToday();
  redraw();
});

const holder = document.querySelector("[data-chart]");
if (holder) {
  fillTable(document.querySelector("[data-numbers]"), holder.dataset.viewerCaption);
  const readout = document.querySelector("[data-readout]");
  let period = "days";
  let plot = null;

  const options = (rows, long, short) => {
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const bars = (align) => uPlot.paths.bars({ size: [0.36, 26], align, radius: 0.15 });
    const whole = (_, splits) => splits.map((value) => (Number.isInteger(value) ? number.format(value) : ""));
    const room = Math.max(1, Math.ceil(rows.length / ((holder.clientWidth - 90) / 48)));
    const upward = (_, low, high) => [0, Math.max(4, high * 1.1)];
    return {
      width: holder.clientWidth,
      height: 280,
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      legend: { show: false },
      scales: { x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] }, y: { range: upward }, use: { range: upward } },
      axes: [
        { ...axis, grid: { show: false }, incrs: [room], space: 1, size: 34, values: (_, splits) => splits.map((at) => (rows[at] && Number.isInteger(at) ? short.format(rows[at].at * 1000) : "")) },
        { ...axis, size: 44, values: whole },
        { ...axis, size: 44, side: 1, scale: "use", grid: { show: false }, values: whole },
      ],
      series: [
        {},
        { scale: "y", stroke: colour("--bar-reserved"), width: 1, fill: () => hatch(colour("--bar-reserved")), paths: bars(-1), points: { show: false } },
        { scale: "y", stroke: colour("--bar-picked-up"), width: 1, fill: colour("--bar-picked-up"), paths: bars(1), points: { show: false } },
        { scale: "use", stroke: colour("--line-in-use"), width: 2.5, points: { show: rows.length < 20, size: 7, fill: colour("--line-in-use") } },
      ],
      hooks: {
        setCursor: [(self) => {
          const row = rows[self.cursor.idx];
          readout.textContent = row
            ? `${long.format(row.at * 1000)}: ${holder.dataset.reserved} ${number.format(row.counts[0])} · ${holder.dataset.pickedUp} ${number.format(row.counts[2])} · ${holder.dataset.inUse} ${number.format(row.inUse)}`
            : "\u00a0";
        }],
      },
    };
  };

  const draw = () => {
    const [rows, long, short] = period === "days" ? [days, dayName, shortDay] : [all.slice(-48), hourName, shortHour];
    const data = [rows.map((_, index) => index), rows.map((row) => row.counts[0]), rows.map((row) => row.counts[2]), rows.map((row) => row.inUse)];
    plot?.destroy();
    plot = new uPlot(options(rows, long, short), data, holder);
  };

  const buttons = document.querySelectorAll("[data-period]");
  for (const button of buttons) {
    button.addEventListener("click", () => {
      period = button.dataset.period;
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      draw();
    });
  }
  document.querySelector("[data-needs-script]").hidden = false;
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth !== width) { width = holder.clientWidth; draw(); }
  }).observe(holder);
  redraw = () => {
    fillTable(document.querySelector("[data-numbers]"), holder.dataset.viewerCaption);
    draw();
  };
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
}
