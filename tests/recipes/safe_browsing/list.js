// Checks addresses against a list of dangerous ones that publish.py exported, without telling anyone
// which address. portable.js and xxh64.js are all it needs; copy the three files beside each other.

import { PortableFilter } from "../../interop/browser/portable.js";
import { xxh64 } from "../../../module/extras/page/xxh64.js";

const utf8 = new TextEncoder();

/** Opens a list: what fetch(...).arrayBuffer() gives. */
export const openList = (buffer) => new PortableFilter(new Uint8Array(buffer), xxh64);

/** What may be on the list of an address: its host and the hosts above it, each with its path and
 *  the folders above it. https://a.b.example/x/y -> a.b.example/x/y, a.b.example/x/, a.b.example/,
 *  b.example/x/y, ... , example itself excepted. */
export function entriesOf(address) {
  const { hostname, pathname } = new URL(address);
  const labels = hostname.split("."), entries = [];
  for (let i = 0; i === 0 || i < labels.length - 1; i++) {
    const host = labels.slice(i).join(".");
    const folders = pathname.split("/").slice(0, -1);
    entries.push(host + pathname);
    for (let n = folders.length; n > 0; n--) entries.push(host + folders.slice(0, n).join("/") + "/");
  }
  return [...new Set(entries)];
}

/** False: surely not on the list. True: on it, or a false positive, 0.1 % per entry; a page that must
 *  be certain now queries its server about this one address. */
export const isSuspect = (list, address) =>
  entriesOf(address).some((entry) => list.has(utf8.encode(entry)));
