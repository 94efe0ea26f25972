// The page of a virtual box. It shows what the box program says, and tells it what a person does; it decides nothing.
"use strict";

const LINES = 200;
const KEYS = 16; // that wait while others are under way
const byId = (id) => document.getElementById(id);
const cells = new Map(); // code -> the elements of a door
let state = null;

// What a person does

async function act(what) {
  try {
    const answer = await fetch("act", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(what),
    });
    if (!answer.ok) warn((await answer.json()).refused);
  } catch {
    warn("The box program does not answer.");
  }
}

let keysWaiting = "";
let keysUnderWay = false;
let lastKey = 0;

// Keys go one request after the other: two under way at once could arrive in the wrong order.
async function press(key) {
  light(key);
  lastKey = Date.now();
  keysWaiting = (keysWaiting + key).slice(0, KEYS);
  if (keysUnderWay) return;
  keysUnderWay = true;
  while (keysWaiting) {
    const keys = keysWaiting;
    keysWaiting = "";
    await act({ act: "press", keys });
  }
  keysUnderWay = false;
}

function light(key) {
  const button = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!button) return;
  button.classList.add("lit");
  setTimeout(() => button.classList.remove("lit"), 140);
}

function keyOf(event) {
  if (/^[0-9*#]$/.test(event.key)) return event.key;
  if (state?.display.letters && /^[a-z]$/i.test(event.key)) return event.key.toUpperCase();
  if (["Backspace", "Delete", "Escape"].includes(event.key)) return "*";
  // Enter belongs to the button that has the focus, if there is one.
  if (event.key === "Enter" && !event.target.closest("button, select")) return "#";
  return null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
  const key = keyOf(event);
  if (key === null) return;
  event.preventDefault();
  if (!event.repeat) press(key);
});

for (const group of [byId("keys"), byId("letters")]) {
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) press(button.dataset.key);
  });
}

for (const button of document.querySelectorAll(".switch")) {
  button.addEventListener("click", () => {
    const wrong = button.getAttribute("aria-checked") !== "true";
    const what = { act: button.dataset.act, on: "off" in button.dataset ? !wrong : wrong };
    if (button.closest(".of-a-door")) what.door = byId("which").value;
    act(what);
  });
}
byId("which").addEventListener("change", () => showSwitches(state));

// Who typed a PIN walks to the door that opens.
function walkTo(cell) {
  if (Date.now() - lastKey > 15000) return;
  const { top, bottom } = cell.getBoundingClientRect();
  if (top >= 0 && bottom <= innerHeight) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  cell.scrollIntoView({ block: "center", inline: "nearest", behavior: calm ? "auto" : "smooth" });
}

function touch(code) {
  const door = cells.get(code).door;
  if (door.open) {
    act({ act: "close", door: code });
    return;
  }
  const { cell } = cells.get(code);
  cell.classList.add("rattle");
  setTimeout(() => cell.classList.remove("rattle"), 300);
  say(`${code} is locked. Its PIN opens it.`);
}

// What a person sees and hears

function say(text) {
  byId("says").textContent = text;
}

let warned;
function warn(text) {
  const toast = byId("toast");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(warned);
  warned = setTimeout(() => { toast.hidden = true; }, 4000);
}

function show(now) {
  const before = state;
  state = now;
  if (cells.size !== now.doors.length) build(now.doors);
  byId("cabinet").classList.toggle("dark", !now.power);
  byId("device").textContent = now.device;
  lamp("linked", now.connected, now.power ? (now.connected ? "Connected" : "No connection") : "No power");
  lamp("where", now.environment === "sandbox", now.environment === "sandbox" ? "Sandbox" : "Waiting");
  if (now.waiting) byId("linked").textContent += ` · ${now.waiting} in the journal`;
  showDisplay(now.display);
  for (const door of now.doors) showDoor(door);
  showSwitches(now);
  if (before) tell(before, now);
}

function lamp(id, good, text) {
  const item = byId(id);
  item.className = good ? "good" : "bad";
  item.textContent = text;
}

function showDisplay(display) {
  byId("glass").dataset.tone = display.tone;
  byId("title").textContent = display.title;
  byId("detail").textContent = display.detail;
  const asksForPin = display.code === null;
  byId("code").hidden = asksForPin;
  byId("code").textContent = display.code ?? "";
  byId("letters").hidden = !display.letters;
  byId("slots").hidden = !asksForPin || !(display.takes_keys || display.typed);
  [...byId("slots").children].forEach((slot, number) => {
    slot.className = number < display.typed ? "full" : display.takes_keys && number === display.typed ? "next" : "";
  });
}

function showSwitches(now) {
  const door = now.doors.find((each) => each.code === byId("which").value) ?? now.doors[0];
  const wrong = { cable: !now.cable, power: !now.power, lose: now.loses, jam: door.jammed, stick: door.stuck };
  for (const button of document.querySelectorAll(".switch")) {
    button.setAttribute("aria-checked", String(wrong[button.dataset.act]));
  }
}

function build(doors) {
  cells.clear();
  byId("doors").replaceChildren();
  const columns = Math.max(...doors.map((door) => door.column));
  byId("doors").style.setProperty("--columns", columns);
  document.querySelector("main").classList.toggle("wide", columns > 3);
  for (const door of doors) {
    const cell = byId("door").content.firstElementChild.cloneNode(true);
    const part = (name) => cell.querySelector(`.${name}`);
    const parts = { cell, hand: part("hand"), parcel: part("parcel"), ring: part("left"), time: part("time"), door: {} };
    cell.style.gridColumn = door.column;
    cell.style.gridRow = door.row;
    part("plate").textContent = part("label").textContent = door.code;
    parts.hand.addEventListener("click", () => touch(door.code));
    parts.parcel.addEventListener("click", () => {
      act({ act: cells.get(door.code).door.parcel ? "take" : "put", door: door.code });
    });
    cells.set(door.code, parts);
    byId("doors").append(cell);
  }
  byId("which").replaceChildren(...doors.map((door) => new Option(door.code)));
  const letters = [...new Set(doors.flatMap((door) => door.code.match(/[A-Z]/g) ?? []))].sort();
  byId("letters").replaceChildren(...letters.map((letter) => {
    const button = document.createElement("button");
    button.dataset.key = button.textContent = letter;
    return button;
  }));
}

function showDoor(door) {
  const parts = cells.get(door.code);
  if (JSON.stringify(parts.door) === JSON.stringify(door)) return;
  const { cell, hand, parcel } = parts;
  const arrived = door.parcel && parts.door.parcel === false;
  if (door.open && parts.door.open === false) walkTo(cell);
  for (const name of ["open", "jammed", "stuck"]) cell.classList.toggle(name, door[name]);
  cell.classList.toggle("protected", door.protected !== null);
  cell.dataset.sensed = door.sensed ?? "";
  hand.setAttribute("aria-label", `Door ${door.code}: ${describe(door)}`);
  parcel.hidden = !door.open;
  parcel.classList.toggle("arrived", arrived);
  parcel.setAttribute("aria-label", `${door.parcel ? "Take the parcel out of" : "Put a parcel into"} ${door.code}`);
  parcel.querySelector("use").setAttribute("href", door.parcel ? "#parcel" : "#ghost");
  parcel.querySelector(".chip").textContent = door.parcel ? "Take it" : "Put in";
  if (door.protected) {
    parts.ring.style.strokeDashoffset = 100 * (1 - door.protected.left / door.protected.of);
    parts.time.textContent = clock(door.protected.left);
  }
  parts.door = door;
}

function describe(door) {
  if (door.open) return "open. Close it";
  const more = [door.jammed && "its lock jams", door.stuck && "its sensor sticks", door.protected && "protected"];
  return ["closed and locked", ...more].filter(Boolean).join(", ");
}

function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// What changed, for those who listen; a countdown is not read out second by second.
function tell(before, now) {
  const news = [];
  const { title, detail } = now.display;
  if (title && title !== before.display.title) news.push(/\d s$|min$/.test(detail) ? title : `${title}. ${detail}.`);
  now.doors.forEach((door, number) => {
    const was = before.doors[number];
    if (door.open !== was.open) news.push(`${door.code} is ${door.open ? "open" : "closed"}.`);
    if (door.parcel !== was.parcel) news.push(`Parcel ${door.parcel ? "in" : "out of"} ${door.code}.`);
  });
  if (now.power !== before.power) news.push(now.power ? "The power is back." : "The power is cut.");
  if (news.length) say(news.join(" "));
}

// The messages on the wire

const lines = byId("lines");
let held = []; // while someone reads
let pausedByHand = false;
const reads = () => pausedByHand || lines.matches(":hover") || lines.matches(":focus-visible");

function addLine(line) {
  held.push(line);
  held = held.slice(-LINES);
  release();
}

function release() {
  byId("pause").textContent = !reads() ? "Pause" : held.length ? `${held.length} new` : "Paused";
  if (reads()) return;
  for (const line of held) lines.prepend(rowOf(line));
  held = [];
  while (lines.children.length > LINES) lines.lastElementChild.remove();
}

function rowOf(line) {
  const row = document.createElement("li");
  row.className = line.lost ? "new lost" : "new";
  const time = document.createElement("time");
  time.textContent = new Date(line.at).toLocaleTimeString([], { hour12: false });
  row.append(time);
  const cellsOfRow = [
    [line.way, line.way === "up" ? "↑" : "↓"],
    [`kind ${line.way}`, line.kind],
    ["text", line.lost ? `${line.text} (lost)` : line.text],
  ];
  for (const [name, text] of cellsOfRow) {
    const cell = document.createElement("span");
    cell.className = name;
    cell.textContent = text;
    row.append(cell);
  }
  row.children[1].setAttribute("role", "img");
  row.children[1].setAttribute("aria-label", line.way === "up" ? "from the box" : "to the box");
  return row;
}

byId("pause").addEventListener("click", () => {
  pausedByHand = !pausedByHand;
  byId("pause").setAttribute("aria-pressed", String(pausedByHand));
  release();
});
for (const name of ["mouseenter", "mouseleave", "focus", "blur"]) lines.addEventListener(name, release);

// The stream from the box program; it begins with all that is kept, each time

function listen() {
  const stream = new EventSource("events");
  stream.addEventListener("open", () => {
    held = [];
    lines.replaceChildren();
  });
  stream.addEventListener("state", (event) => show(JSON.parse(event.data)));
  stream.addEventListener("message", (event) => addLine(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    showDisplay({ title: "", detail: "", tone: "off", typed: 0, code: null, letters: false, takes_keys: false });
    lamp("linked", false, "The box program does not answer");
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2000); // otherwise it tries by itself
  });
}

listen();
