/** A finding of `tollgate doctor`: the part examined, its status, what was found, and a remedy. */

export interface Finding {
  readonly part: string
  /** `warning`: it works, or may be intended. Only `failed` makes the command fail. */
  readonly status: "ok" | "warning" | "failed"
  readonly found: string
  readonly remedy: string | null
}

export const ok = (part: string, found: string): Finding => ({ part, status: "ok", found, remedy: null })

export const warning = (part: string, found: string, remedy: string): Finding => ({
  part,
  status: "warning",
  found,
  remedy
})

export const failed = (part: string, found: string, remedy: string): Finding => ({
  part,
  status: "failed",
  found,
  remedy
})

/** Clocks that differ by more end sessions and leases at the wrong time. */
const MOST_DRIFT_MS = 2_000

/** The finding on another machine's clock, which is `driftMs` ahead of this one's. */
export const clockFinding = (whose: string, driftMs: number): Finding => {
  const seconds = (Math.abs(driftMs) / 1000).toFixed(1)
  return Math.abs(driftMs) <= MOST_DRIFT_MS
    ? ok("clock", `${whose} agrees with this machine`)
    : failed(
        "clock",
        `${whose} is ${seconds} s ${driftMs > 0 ? "ahead of" : "behind"} this machine`,
        "Synchronise both machines with a time server (NTP): leases, codes and tokens depend on their clocks."
      )
}
