/** Words and numbers by which clients ask for reasoning, as the words that all dialects know. */
import { nearest } from "../../domain/Nearest.ts"

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]

/** Efforts beyond the highest that all dialects know. */
const beyond = new Set(["ultra", "persistent"])

export interface Effort {
  readonly effort: string
  /** It is another word than the client's. */
  readonly isOther: boolean
}

/** The nearest effort; null: none is asked for. */
export const effortFor = (asked: unknown): Effort | null => {
  if (typeof asked === "number") return { effort: effortOfShare(asked > 1 ? asked / 100 : asked), isOther: true }
  if (typeof asked !== "string" || asked === "") return null
  if (efforts.includes(asked)) return { effort: asked, isOther: false }
  return { effort: beyond.has(asked) ? "max" : (nearest(asked, efforts) ?? "medium"), isOther: true }
}

/** A number is a share of the most reasoning, or a percentage. */
const effortOfShare = (share: number): string =>
  efforts[Math.round(Math.min(Math.max(share, 0), 1) * (efforts.length - 1))] ?? "medium"
