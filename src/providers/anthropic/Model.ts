/**
 * What one Claude model takes, told from its name: each generation dropped members that the one before it took, and a
 * request that still has them is refused with a 400. A Claude of an unknown name counts as a recent one, any other
 * model behind a server of this dialect as one from before these changes. After the vendor's migration guides, read on
 * 2026-11-21.
 */

export interface ClaudeModel {
  /** How many of `temperature` and `top_p` a request may have. */
  readonly sampling: 0 | 1 | 2
  /** Not at all, for a number of tokens that the request sets, or as the model sees fit. */
  readonly thinking: "none" | "budget" | "adaptive"
  /** What keeps it from thinking: asking for nothing, a type of `thinking`, or nothing does. */
  readonly thinkingOff: "unasked" | "disabled" | "between_tools" | "never"
  /** Shows its thoughts only when the request asks for a summary. */
  readonly hidesThoughts: boolean
  /** Knows the effort between `high` and `max`. */
  readonly extraHighEffort: boolean
  /** Takes a JSON schema for the whole answer. */
  readonly jsonSchema: boolean
  /** Lets a request force a tool. */
  readonly forcedTools: boolean
  /** Continues from a trailing assistant message. */
  readonly prefill: boolean
}

const current = /claude-(opus|sonnet|haiku|fable|mythos)-(\d)(?:[-.](\d{1,2}))?(?!\d)/
const former = /claude-(\d)(?:[-.](\d{1,2}))?-(opus|sonnet|haiku)/

/** `upstream`: what the provider calls the model, dated or not. */
export const claudeModel = (upstream: string): ClaudeModel => {
  const name = upstream.toLowerCase()
  const [, family, major, minor] = current.exec(name) ?? []
  if (family !== undefined) return ofVersion(family, versionOf(major, minor))
  const [, oldMajor, oldMinor, oldFamily] = former.exec(name) ?? []
  if (oldFamily !== undefined) return ofVersion(oldFamily, versionOf(oldMajor, oldMinor))
  if (/claude-(instant|v?[12])/.test(name)) return ofVersion("opus", 200)
  return name.includes("claude") ? ofVersion("sonnet", 500) : ofVersion("sonnet", 400)
}

/** 4.5 is 405. */
const versionOf = (major: string | undefined, minor: string | undefined): number =>
  Number(major) * 100 + Number(minor ?? 0)

const ofVersion = (family: string, version: number): ClaudeModel => ({
  sampling: version >= 407 ? 0 : version >= 401 ? 1 : 2,
  thinking: version >= 406 ? "adaptive" : version >= 307 ? "budget" : "none",
  thinkingOff: thinkingOff(family, version),
  hidesThoughts: version >= 407,
  extraHighEffort: version >= 407,
  jsonSchema: version >= 405,
  forcedTools: version < (family === "fable" || family === "mythos" ? 501 : family === "haiku" ? Infinity : 505),
  prefill: version < 406
})

const thinkingOff = (family: string, version: number): ClaudeModel["thinkingOff"] => {
  if (version < 500) return "unasked"
  if (family === "fable" || family === "mythos") return "never"
  if (family === "haiku" || version < 505) return "disabled"
  return family === "sonnet" ? "between_tools" : "never"
}
