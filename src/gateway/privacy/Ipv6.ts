/** IPv6 addresses, with or without an IPv4 tail. The platform judges; times, MAC addresses and `a::b` in code are left. */
import { isIPv6 } from "node:net"
import { type Budget } from "./Budget.ts"
import { type Span } from "./Span.ts"

const candidate =
  /(?:(?<![\w:.])|(?<=\\[nrt]))(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{1,4}|)(?![\w])/g

export const findIpv6 = (text: string, budget: Budget, add: (span: Span) => void): void => {
  for (const { 0: found, index: start } of text.matchAll(candidate)) {
    if (budget.isOver()) return
    // A colon behind an address is punctuation, two are part of it.
    const address = /[^:]:$/.test(found) ? found.slice(0, -1) : found
    if (/\d/.test(address) && isIPv6(address)) add({ start, end: start + address.length, type: "ip_address" })
  }
}
