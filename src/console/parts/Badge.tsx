/** A coloured word. The word alone is sufficient; the colour is an aid. */

export type Tone = "good" | "warn" | "bad" | "calm"

const tones: Readonly<Record<string, Tone>> = {
  ok: "good",
  active: "good",
  closed: "good",
  success: "good",
  degraded: "warn",
  overloaded: "warn",
  half_open: "warn",
  disabled: "warn",
  skipped: "warn",
  cancelled: "warn",
  suspended: "warn",
  timeout: "bad",
  error: "bad",
  open: "bad",
  down: "bad",
  unavailable: "bad",
  revoked: "bad",
  expired: "bad"
}

export const Badge = ({ text, tone }: { readonly text: string; readonly tone?: Tone }) => (
  <span class={`badge ${tone ?? tones[text] ?? "calm"}`}>{text.replaceAll("_", " ")}</span>
)
