// The names of a table's columns, read here in the browser: the first line of a CSV file, or the schema at the end of a Parquet
// file. Nothing is sent anywhere, and nothing of a row is kept.

const MOST_LINE = 256 * 1024; // bytes of a first line
const MOST_FOOTER = 64 * 1024 * 1024;
const DELIMITERS = [",", ";", "|", "\t"];

export class Unreadable extends Error {}

/** {columns: [{name, kind}], source}: what a plan says of the table. */
export async function readHeader(file) {
  return /\.parquet$/i.test(file.name) ? parquetHeader(file) : csvHeader(file);
}

// CSV

async function csvHeader(file) {
  const line = firstRecord(await utf8(file.slice(0, MOST_LINE)));
  const best = DELIMITERS.map((sign) => [sign, fields(line, sign)]).reduce((one, other) => (other[1].length > one[1].length ? other : one));
  const [delimiter, names] = best;
  if (names.some(isValue) || new Set(names).size < names.length) {
    throw new Unreadable(
      `The first line of ${file.name} does not hold the names of columns, each another one. It is not shown, for it may be a row. Put a line with names before it.`,
    );
  }
  const source = { csv: file.name, ...(delimiter === "," ? {} : { delimiter }) };
  return { columns: names.map((name) => ({ name, kind: "text" })), source };
}

async function utf8(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const end = bytes.indexOf(10); // decoded up to the line's end, so that a row that is not UTF-8 does not matter
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(end < 0 || hasQuotes(bytes.subarray(0, end)) ? bytes : bytes.subarray(0, end));
  } catch {
    return new TextDecoder("utf-8").decode(bytes.subarray(0, end < 0 ? bytes.length : end));
  }
}

const hasQuotes = (bytes) => bytes.includes(34);

/** The text up to the first line end outside of quotes. */
function firstRecord(text) {
  let isQuoted = false;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (text[index] === "\n" || text[index] === "\r")) return text.slice(0, index);
  }
  if (text.length >= MOST_LINE) throw new Unreadable("The first line is too long to hold names.");
  return text;
}

function fields(line, delimiter) {
  const found = [];
  let field = "";
  let isQuoted = false;
  for (let index = 0; index < line.length; index += 1) {
    const sign = line[index];
    if (sign === '"' && isQuoted && line[index + 1] === '"') {
      field += '"';
      index += 1;
    } else if (sign === '"') isQuoted = !isQuoted;
    else if (sign === delimiter && !isQuoted) {
      found.push(field);
      field = "";
    } else field += sign;
  }
  return [...found, field];
}

/** Whether it is blank, digits without a letter, or a day: then the line is a row. As `leastnoise init` decides. */
export function isValue(name) {
  const isNumber = /\p{Nd}/u.test(name) && !/\p{L}/u.test(name);
  const isPlainNumber = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(name) || /^\s*[+-]?(inf|infinity|nan)\s*$/i.test(name);
  return !name.trim() || isNumber || isPlainNumber || /^\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}/.test(name);
}

// Parquet: the last 8 bytes are the length of the footer and "PAR1"; the footer is a FileMetaData in Thrift's compact protocol, of
// which only the schema is read (github.com/apache/parquet-format, parquet.thrift).

async function parquetHeader(file) {
  const tail = new DataView(await file.slice(Math.max(0, file.size - 8)).arrayBuffer());
  const isParquet = tail.byteLength === 8 && tail.getUint32(4, false) === 0x50415231;
  const length = isParquet ? tail.getUint32(0, true) : 0;
  if (!isParquet || length + 12 > file.size || length > MOST_FOOTER) throw new Unreadable(`${file.name} is not a Parquet file.`);
  const footer = new Uint8Array(await file.slice(file.size - 8 - length, file.size - 8).arrayBuffer());
  try {
    return { columns: topColumns(new Compact(footer).schema()), source: { parquet: file.name } };
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    throw new Unreadable(`The footer of ${file.name} cannot be read.`);
  }
}

/** The columns below the root, those that hold columns themselves as one. */
function topColumns(elements) {
  const found = [];
  let place = 1;
  const skip = () => {
    const element = elements[place];
    place += 1;
    for (let child = 0; child < (element.children ?? 0); child += 1) skip();
  };
  for (let child = 0; child < (elements[0]?.children ?? 0); child += 1) {
    const element = elements[place];
    if (!element) throw new Unreadable("The schema of the file has fewer columns than it says.");
    found.push({ name: element.name, kind: element.children ? "other" : kindOf(element) });
    skip();
  }
  return found;
}

const [UTF8, ENUM, DECIMAL, DATE, JSON_TEXT] = [0, 4, 5, 6, 19]; // ConvertedType
const TIMES = [7, 8]; // TIME_MILLIS, TIME_MICROS
const INSTANTS = [9, 10]; // TIMESTAMP_MILLIS, TIMESTAMP_MICROS

/** "truth", "number", "text", "day" or "other", as a plan uses it. */
function kindOf({ type, converted, logical }) {
  if (type === 0) return "truth";
  if (converted === DATE || INSTANTS.includes(converted) || logical === 6 || logical === 8 || type === 3) return "day";
  if (TIMES.includes(converted) || logical === 7) return "other";
  if (converted === DECIMAL || logical === 5 || type === 1 || type === 2 || type === 4 || type === 5) return "number";
  if (type === 6 && ([UTF8, ENUM, JSON_TEXT].includes(converted) || logical === 1 || logical === 4)) return "text";
  return "other";
}

/** A reader of Thrift's compact protocol. */
class Compact {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Unreadable("The footer of the file ends too early.");
    return this.bytes[this.at++];
  }

  /** An unsigned varint; beyond 2^53 its last digits do not matter here. */
  varint() {
    let value = 0;
    for (let factor = 1, count = 0; count < 10; count += 1, factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new Unreadable("The footer of the file holds a number that is none.");
  }

  signed() {
    const value = this.varint();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  text() {
    const length = this.varint();
    if (length > this.bytes.length - this.at) throw new Unreadable("The footer of the file ends too early.");
    this.at += length;
    return new TextDecoder("utf-8", { fatal: true }).decode(this.bytes.subarray(this.at - length, this.at));
  }

  /** Calls `each(field, type)` for the fields of a struct; a field that it does not read, it returns false for. */
  struct(each) {
    for (let field = 0; ; ) {
      const head = this.byte();
      if (head === 0) return;
      const type = head & 15;
      field = head >> 4 ? field + (head >> 4) : this.signed();
      if (each(field, type) === false) this.skip(type);
    }
  }

  list(each) {
    const head = this.byte();
    const size = head >> 4 === 15 ? this.varint() : head >> 4;
    for (let index = 0; index < size; index += 1) each(head & 15);
  }

  skip(type) {
    if (type === 1 || type === 2) return; // truths stand in the head of their field
    if (type === 3) this.at += 1;
    else if (type >= 4 && type <= 6) this.varint();
    else if (type === 7) this.at += 8;
    else if (type === 8) this.at += this.varint();
    else if (type === 9 || type === 10) this.list((inner) => (inner === 1 || inner === 2 ? (this.at += 1) : this.skip(inner)));
    else if (type === 12) this.struct(() => false);
    else throw new Unreadable("The footer of the file holds something unknown.");
  }

  /** FileMetaData: field 2 is the schema; what comes after it (rows, statistics) is not looked at. */
  schema() {
    let found = null;
    const done = new Error("done");
    try {
      this.struct((field, type) => {
        if (field !== 2 || type !== 9) return false;
        found = [];
        this.list(() => found.push(this.element()));
        throw done;
      });
    } catch (error) {
      if (error !== done) throw error;
    }
    if (!found?.length) throw new Unreadable("The file has no schema.");
    return found;
  }

  /** SchemaElement: 1 type, 4 name, 5 num_children, 6 converted_type, 10 logicalType. */
  element() {
    const found = {};
    this.struct((field, type) => {
      if (field === 1 && type === 5) found.type = this.signed();
      else if (field === 4 && type === 8) found.name = this.text();
      else if (field === 5 && type === 5) found.children = this.signed();
      else if (field === 6 && type === 5) found.converted = this.signed();
      else if (field === 10 && type === 12) {
        this.struct((kind) => {
          found.logical = kind; // a union: 1 STRING, 4 ENUM, 5 DECIMAL, 6 DATE, 7 TIME, 8 TIMESTAMP, …
          return false;
        });
      } else return false;
      return true;
    });
    return found;
  }
}
