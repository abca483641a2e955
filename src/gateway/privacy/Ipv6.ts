/**
 * Recognises IPv6 addresses, with or without an IPv4 tail. Node's `isIPv6` validates them. Times,
 * MAC addresses and `a::b` in code are left.
 */
import { isIPv6 } from "node:net"
import { type Steps } from "./TimeBudget.ts"
import { matchesIn } from "./Matches.ts"
import { type Span } from "./Span.ts"

const candidate =
  /(?:(?<![\w:.])|(?<=\\[nrt]))(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{1,4}|)(?![\w])/g

export function* findIpv6(text: string, add: (span: Span) => void): Steps<void> {
  for (const match of matchesIn(text, candidate)) {
    yield
    if (match === null) continue
    const { 0: found, index: start } = match
    // One colon after an address is punctuation. Two belong to it.
    const address = /[^:]:$/.test(found) ? found.slice(0, -1) : found
    if (/\d/.test(address) && isIPv6(address)) add({ start, end: start + address.length, type: "ip_address" })
  }
}
