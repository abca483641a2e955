/**
 * How long a client says that it waits for an answer to begin: our own header says it for us to use up; the SDKs' header merely tells how the
 * client is set. What is no positive number counts as unsaid.
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
