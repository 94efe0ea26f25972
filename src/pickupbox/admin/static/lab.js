// The lab's buttons follow what fits now, as the live status says it.
const follow = () => {
  const fits = document.querySelector("[data-fits]")?.dataset.fits.split(" ") ?? [];
  for (const button of document.querySelectorAll("[data-event]")) button.disabled = !fits.includes(`event-${button.dataset.event}`);
};
document.addEventListener("htmx:sseMessage", follow);
