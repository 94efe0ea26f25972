// The order's page follows the order: what changed on the server is put in place, without a reload.
setInterval(async () => {
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const shown = document.querySelector("article"), now = page.querySelector("article");
  if (shown.dataset.status === now.dataset.status) return;
  document.title = page.title;
  shown.dataset.status = now.dataset.status;
  // The live region stays, so that it is read out; the rest is new.
  shown.querySelector("[role=status]").innerHTML = now.querySelector("[role=status]").innerHTML;
  now.querySelector("[role=status]").replaceWith(shown.querySelector("[role=status]"));
  shown.replaceChildren(...now.childNodes);
}, 1000);
