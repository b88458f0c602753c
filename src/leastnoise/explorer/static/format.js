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

/**
 * A number and the half-width of its interval, as `uncertain` of leastnoise/text/numbers.py writes them: two digits of the half-width, both
 * to the same place, and never narrower than the truth. Here too since the example statistic does not leave the browser; exactly,
 * since what rounding moves the number by is added to the half-width.
 */
export function uncertain(value, halfWidth, isWhole) {
  const [exact, width, one] = fractions(value, halfWidth);
  if (!width && !isWhole) return [complete(value), "0"];
  const place = Math.max(width ? Math.max(decade(width, one) - 1, -80) : 0, isWhole ? 0 : -80);
  const up = place < 0 ? 10n ** BigInt(-place) : 1n;
  const unit = place > 0 ? one * 10n ** BigInt(place) : one;
  const shown = nearest(exact * up, unit);
  const moved = shown * unit - exact * up;
  const reach = (width * up + (moved < 0n ? -moved : moved) + unit - 1n) / unit;
  return [plain(shown, place), plain(reach, place)];
}

/** The half-width alone. */
export const halfWidthText = (halfWidth, isWhole) => uncertain(0, halfWidth, isWhole)[1];

/** All digits that tell a number from its neighbours. */
function complete(value) {
  const [mantissa, exponent] = value.toExponential().split("e");
  const [first, others = ""] = mantissa.split(".");
  return plain(BigInt(first + others), Number(exponent) - others.length);
}

/** Doubles as exact fractions: their numerators and, last, their common denominator. */
function fractions(...numbers) {
  const halvings = numbers.map((number) => {
    let count = 0;
    for (; !Number.isInteger(number); number *= 2) count += 1;
    return [BigInt(number), count];
  });
  const most = Math.max(...halvings.map(([, count]) => count));
  return [...halvings.map(([whole, count]) => whole << BigInt(most - count)), 1n << BigInt(most)];
}

/** The exponent of the first decimal digit of width / one. */
function decade(width, one) {
  let found = String(width).length - String(one).length; // this or one less
  if (found >= 0 ? width < one * 10n ** BigInt(found) : width * 10n ** BigInt(-found) < one) found -= 1;
  return found;
}

/** Half goes to the even neighbour. */
function nearest(number, unit) {
  const size = number < 0n ? -number : number;
  let units = size / unit;
  const twice = 2n * (size % unit);
  if (twice > unit || (twice === unit && units % 2n)) units += 1n;
  return number < 0n ? -units : units;
}

/** So many units of 10^place, thousands apart. */
function plain(units, place) {
  if (place >= 0) return (units * 10n ** BigInt(place)).toLocaleString("en-US");
  const digits = String(units < 0n ? -units : units).padStart(1 - place, "0");
  const sign = units < 0n ? "-" : "";
  return `${sign}${BigInt(digits.slice(0, place)).toLocaleString("en-US")}.${digits.slice(place)}`;
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
  if (plain === "cube" || plain === "best known joint law" || plain === "one kept draw") return "law-joint";
  if (plain === "optimised product") return "law-cactus";
  if (plain === "setting a") return "law-a";
  if (plain === "setting b") return "law-b";
  return `law-${plain.replace(" ", "-")}`;
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
