// The page: sends the operator's messages to the worker, and shows its answers.
const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });

worker.addEventListener("message", ({ data }) => {
  const line = document.createElement("li");
  line.textContent = data;
  document.querySelector("ol").append(line);
});

document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  worker.postMessage(new FormData(event.target).get("text"));
});
