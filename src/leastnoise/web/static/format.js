// Numbers and names as people read them.

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A number with so many digits; very small and very large ones as powers of ten. */
export function short(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "none";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e7) return power(value, digits);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(decimals, 12) });
}

/** An upper bound stays one when it is written with so many digits. */
export function above(value, digits = 3) {
  return short(rounded(value, digits, Math.ceil), digits);
}

/** And a lower bound a lower one. */
export function below(value, digits = 3) {
  return short(rounded(value, digits, Math.floor), digits);
}

/** In decimals, where moving the point is exact. */
function rounded(value, digits, round) {
  if (!value || !Number.isFinite(value)) return value;
  const [mantissa, exponent] = value.toExponential().split("e");
  return Number(`${round(Number(`${mantissa}e${digits - 1}`))}e${Number(exponent) - digits + 1}`);
}

export function power(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const plain = String(Number(mantissa));
  const raised = "10" + [...String(Number(exponent))].map((sign) => SUPERSCRIPTS[sign]).join("");
  return plain === "1" ? raised : plain === "-1" ? `−${raised}` : `${plain}·${raised}`;
}

/** The class that gives a law its colour and dash, the same in every chart. */
export function lawClass(name) {
  const plain = name.replace("discrete ", "").toLowerCase();
  if (plain === "this design" || plain === "optimised") return "law-ours";
  if (plain === "cube" || plain === "best known joint law") return "law-joint";
  if (plain === "optimised product") return "law-cactus";
  if (plain === "setting a") return "law-a";
  if (plain === "setting b") return "law-b";
  return `law-${plain}`;
}

/** An HTML element with attributes and children; text is text, never markup. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
