// Numbers as people write and read them. Parsers return null for what they do not understand.

const SUFFIXES = { "": 1, k: 1e3, m: 1e6, g: 1e9, b: 1e9, t: 1e12 };

/** "1,000,000", "1 000 000", "1e6", "2.5M" -> a whole number. */
export function parseItems(text) {
  const match = /^(\d+(?:\.\d+)?(?:e\+?\d+)?)([kmgbt]?)$/i.exec(text.replace(/[\s,_]/g, ""));
  if (!match) return null;
  const exact = Number(match[1]) * SUFFIXES[match[2].toLowerCase()], value = Math.round(exact);
  return Number.isSafeInteger(value) && Math.abs(value - exact) < 1e-6 ? value : null;
}

/** "0.01", "1 %", "1e-2", "1 in 100", "1/100" -> 0.01. */
export function parseRate(text) {
  const number = "(\\d*\\.?\\d+(?:e[+-]?\\d+)?)";
  const plain = text.trim().replace(/,/g, "");
  const share = new RegExp(`^${number}\\s*(?:in|/|:)\\s*${number}$`, "i").exec(plain);
  if (share) return Number(share[1]) / Number(share[2]);
  const match = new RegExp(`^${number}\\s*(%?)$`, "i").exec(plain);
  // the exponent is moved in the text: 1 % is 0.01 to the last bit
  return match && (match[2] ? Number(Number(match[1]).toExponential().replace(/e(.*)/, (_, e) => `e${e - 2}`))
                            : Number(match[1]));
}

export function parseNumber(text) {
  return /^\d*\.?\d+$/.test(text.trim()) ? Number(text) : null;
}

export const whole = (n) => Math.round(n).toLocaleString("en-US");

/** 1234567 -> "1.23 M": at most four characters of digits. */
export function short(n) {
  const units = ["", " K", " M", " G", " T", " P"];
  let unit = 0;
  for (; n >= 999.5 && unit < 5; unit++) n /= 1000;
  return Number(n.toPrecision(3)) + units[unit];
}

export function memory(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < 5; unit++) bytes /= 1024;
  return `${unit ? bytes.toFixed(bytes < 10 ? 2 : bytes < 100 ? 1 : 0) : bytes} ${units[unit]}`;
}

export const SECONDS = { seconds: 1, minutes: 60, hours: 3600, days: 86400 };

/** 108000 -> "30 hours": in the largest unit of which there are two, rounded by `round`: to hundredths,
 *  from 100 on to whole units. */
export function duration(seconds, round = Math.round) {
  const unit = Object.keys(SECONDS).findLast((name) => seconds >= 2 * SECONDS[name]) ?? "seconds";
  const exact = seconds / SECONDS[unit], parts = exact < 100 ? 100 : 1, near = Math.round(exact * parts);
  const value = (Math.abs(exact * parts - near) < 1e-6 ? near : round(exact * parts)) / parts;
  return `${value.toLocaleString("en-US")} ${value === 1 ? unit.slice(0, -1) : unit}`;
}

/** 0.00625 -> "0.625 %". */
export function percent(rate) {
  const value = rate * 100;
  if (value === 0) return "0 %";
  if (value < 1e-4) return `${value.toExponential(1).replace("e-", " × 10⁻").replace(/\d+$/, superscript)} %`;
  return `${Number(value.toPrecision(value < 0.01 ? 2 : 3))} %`;
}

const superscript = (digits) => [...digits].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]).join("");

export const power = (exponent) =>
  exponent < 0 ? `10⁻${superscript(String(-exponent))}` : `10${superscript(String(exponent))}`;

export const oneIn = (rate) => (rate > 0 ? `1 in ${rate > 0.05 ? Number((1 / rate).toPrecision(2)) : whole(1 / rate)}` : "never");
