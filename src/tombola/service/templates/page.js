"use strict";
// Shortcuts, only where no text is being typed and no modifier is held.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  if (event.key.toLowerCase() === "u") {
    const undo = document.querySelector("details[data-undo]");
    if (undo) { undo.open = true; undo.querySelector("button").focus(); }
    return;
  }
  if (event.target.matches("button, summary, a")) { if (event.key === "Enter" || event.key === " ") return; }
  for (const button of document.querySelectorAll("button[data-key]")) {
    if (button.dataset.key.toLowerCase() === event.key.toLowerCase()) { event.preventDefault(); button.click(); return; }
  }
});
// A double click must not send a form twice; the server would ignore it, but the page would flicker.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) { event.preventDefault(); return; }
  event.target.dataset.sent = "1";
});
// A page from the back-forward cache must be usable again.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
// Live numbers: the stream announces a change, the server renders it.
const progress = document.getElementById("progress");
if (progress && window.EventSource) {
  const source = new EventSource(progress.dataset.events);
  source.addEventListener("counts", async () => {
    const reply = await fetch(progress.dataset.fragment);
    if (reply.ok) progress.innerHTML = await reply.text();
  });
}
