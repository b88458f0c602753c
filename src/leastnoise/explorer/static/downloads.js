// What leaves the page: files, the clipboard, pictures.

export function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** True if it worked; without the right to the clipboard the text is selected for the person to copy. */
export async function copy(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (shown) getSelection().selectAllChildren(shown);
    return false;
  }
}

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "font-size", "font-weight"];

/** A drawn chart as a file of its own: its colours are written into it, since no stylesheet goes with it. */
export function picture(drawing, title) {
  const copied = drawing.cloneNode(true);
  const from = [drawing, ...drawing.querySelectorAll("*")];
  const to = [copied, ...copied.querySelectorAll("*")];
  from.forEach((node, index) => {
    const style = getComputedStyle(node);
    for (const name of KEPT) to[index].setAttribute(name, style.getPropertyValue(name));
    to[index].removeAttribute("class");
  });
  for (const node of copied.querySelectorAll("[visibility=hidden], [hidden]")) node.remove();
  const [, , width, height] = copied.getAttribute("viewBox").split(" ").map(Number);
  const space = "http://www.w3.org/2000/svg";
  const back = document.createElementNS(space, "rect");
  back.setAttribute("width", width);
  back.setAttribute("height", height);
  back.setAttribute("fill", getComputedStyle(drawing.closest(".card")).backgroundColor);
  const name = document.createElementNS(space, "title");
  name.textContent = title;
  copied.prepend(name, back);
  copied.setAttribute("xmlns", space);
  copied.setAttribute("width", width);
  copied.setAttribute("height", height);
  copied.setAttribute("font-family", "system-ui, sans-serif");
  return new XMLSerializer().serializeToString(copied);
}
