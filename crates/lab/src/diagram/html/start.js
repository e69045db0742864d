// Starts the viewer of a file that stands alone.
mountViewer(document.querySelector("[data-viewer]"), JSON.parse(document.getElementById("run").textContent));
