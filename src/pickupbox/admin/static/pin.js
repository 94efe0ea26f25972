// A PIN is on the page for a short time only, and never comes back by the browser's memory.
for (const shown of document.querySelectorAll("[data-pin]")) {
  const hide = () => {
    shown.querySelector("[data-secret]")?.remove();
    shown.querySelector("[data-note]").hidden = true;
    shown.querySelector("[data-gone]").hidden = false;
  };
  setTimeout(hide, Number(shown.dataset.seconds) * 1000);
  addEventListener("pagehide", hide);
}
