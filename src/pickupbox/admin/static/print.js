// A sticker is printed by a button where there is a script; elsewhere the browser's own menu does it.
const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => print());
