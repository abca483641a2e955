/**
 * Reads how long a client waits for a response to begin. Our own header is an explicit deadline.
 * The SDKs' header only reports how the client is configured. A value that is not a positive number
 * is ignored.
 */
import { type DeadlineHeaders } from "../../api/schemas/Deadline.ts"
import { type ClientDeadline } from "../../gateway/request/ClientDeadline.ts"

export const clientDeadlineOf = (headers: DeadlineHeaders): ClientDeadline | null => {
  const statedMs = positive(headers["x-tollgate-timeout-ms"])
  if (statedMs !== null) return { ms: statedMs, explicit: true }
  const seconds = positive(headers["x-stainless-timeout"])
  return seconds === null ? null : { ms: seconds * 1000, explicit: false }
}

const positive = (text: string | undefined): number | null => {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) && value > 0 ? value : null
}
