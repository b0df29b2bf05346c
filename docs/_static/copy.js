// A button on every block of code that copies it.

const ICON = '<svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true"><path d="M5 2h8v9M3 5h8v9H3z" fill="none" stroke="currentColor" stroke-width="1.3"/></svg>';

// The clipboard needs https, or this machine; elsewhere the selection is copied.
const copied = async (block) => {
  const text = block.textContent.replace(/\n$/, "");
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
  const range = document.createRange();
  range.selectNodeContents(block);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  if (!document.execCommand("copy")) throw new Error("not allowed");
  getSelection().removeAllRanges();
};

for (const block of document.querySelectorAll("div[class*='highlight-'] pre")) {
  if (block.closest(".highlight-text, .highlight-console, .output")) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.title = "Copy";
  button.setAttribute("aria-label", "Copy the code");
  button.innerHTML = ICON;
  button.addEventListener("click", async () => {
    try {
      await copied(block);
      button.classList.add("done");
      button.title = "Copied";
    } catch {
      button.title = "Select the code and copy it by hand";
    }
    setTimeout(() => {
      button.classList.remove("done");
      button.title = "Copy";
    }, 1500);
  });
  block.parentElement.append(button);
}
