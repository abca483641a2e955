/**
 * The abilities of a Claude model, derived from its name. Each generation rejects members that
 * earlier ones took, with a 400. An unknown Claude counts as recent. Any other model on a server of
 * this dialect counts as older than these changes. Source: the vendor's migration guides, read on
 * 2026-11-21.
 */
import { type ThoughtMaker, UNNAMED_FORMAT } from "../wire/Thoughts.ts"

export interface ClaudeModel {
  /** How many of `temperature` and `top_p` a request may have. */
  readonly sampling: 0 | 1 | 2
  /** "budget": the request sets a number of tokens. "adaptive": the model decides. */
  readonly thinking: "none" | "budget" | "adaptive"
  /**
   * How to turn thinking off: by not asking, by `thinking` of type "disabled" (after tool calls:
   * "between_tools"), or not at all.
   */
  readonly thinkingOff: "unasked" | "disabled" | "between_tools" | "never"
  /** True if thoughts are shown only when the request asks for a summary. */
  readonly hidesThoughts: boolean
  /** Supports the effort `xhigh`, between `high` and `max`. */
  readonly extraHighEffort: boolean
  /** Supports a JSON schema for the whole answer. */
  readonly jsonSchema: boolean
  /** Lets a request force a tool. */
  readonly forcedTools: boolean
  /** Continues from a trailing assistant message. */
  readonly prefill: boolean
}

const current = /claude-(opus|sonnet|haiku|fable|mythos)-(\d)(?:[-.](\d{1,2}))?(?!\d)/
const former = /claude-(\d)(?:[-.](\d{1,2}))?-(opus|sonnet|haiku)/

/** The marks of the thoughts that a model of this form makes. `provider`: the provider's slug. */
export const thoughtMaker = (provider: string, upstream: string): ThoughtMaker => ({
  format: upstream.toLowerCase().includes("claude") ? "anthropic-claude-v1" : UNNAMED_FORMAT,
  provider
})

/** `upstream`: the provider's name of the model, with or without a date. */
export const claudeModel = (upstream: string): ClaudeModel => {
  const name = upstream.toLowerCase()
  const [, family, major, minor] = current.exec(name) ?? []
  if (family !== undefined) return ofVersion(family, versionOf(major, minor))
  const [, oldMajor, oldMinor, oldFamily] = former.exec(name) ?? []
  if (oldFamily !== undefined) return ofVersion(oldFamily, versionOf(oldMajor, oldMinor))
  if (/claude-(instant|v?[12])/.test(name)) return ofVersion("opus", 200)
  return name.includes("claude") ? ofVersion("sonnet", 500) : ofVersion("sonnet", 400)
}

/** 4.5 becomes 405. */
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
