// A word that frees a compartment is given by holding, by finger or by key: nobody does that by accident.
// Without a script, and for whoever cannot hold, the same button leads to a page that asks once more.

const HOLD = 1200;
let held = null;

const begin = (button) => {
  if (held) return;
  button.classList.add("holding");
  held = { button, timer: setTimeout(() => finish(button), HOLD) };
};
const cancel = () => {
  if (!held) return;
  clearTimeout(held.timer);
  held.button.classList.remove("holding");
  held = null;
};
const finish = (button) => {
  held = null;
  // What is live may have taken the button away in between: then the door has moved, and the word counts no more.
  if (!button.isConnected) return;
  button.classList.add("given");
  navigator.vibrate?.(60);
  document.getElementById(button.dataset.hold).requestSubmit();
};
const holdOf = (event) => event.target.closest?.("[data-hold]");

document.addEventListener("pointerdown", (event) => {
  const button = holdOf(event);
  if (!button || event.button !== 0) return;
  button.dataset.pointed = "yes";
  begin(button);
});
for (const end of ["pointerup", "pointercancel", "blur", "visibilitychange"]) addEventListener(end, cancel);
document.addEventListener("pointermove", (event) => {
  if (held && !held.button.contains(document.elementFromPoint(event.clientX, event.clientY))) cancel();
});
document.addEventListener("contextmenu", (event) => { if (holdOf(event)) event.preventDefault(); });
document.addEventListener("dragstart", (event) => { if (holdOf(event)) event.preventDefault(); });

document.addEventListener("keydown", (event) => {
  const button = holdOf(event);
  if (!button || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  if (!event.repeat) begin(button);
});
document.addEventListener("keyup", cancel);

// A click of a pointer is the end of a hold that was too short. One that comes from elsewhere, as from a screen reader
// or a voice, follows the link to the page that asks.
document.addEventListener("click", (event) => {
  const button = holdOf(event);
  if (!button?.dataset.pointed) return;
  delete button.dataset.pointed;
  event.preventDefault();
});
