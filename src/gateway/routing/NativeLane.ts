/**
 * Leaves out the candidates that cannot be sent a request in its own form: those of another API, if
 * chat completions cannot express the request, and those whose account keys may not refer to, if it
 * does. So no call meets a request that it cannot carry. Pure.
 */
import { Result } from "effect"
import { type Candidate, type Exclusion } from "../../domain/Catalog.ts"
import { gatewayError, type GatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { type Inexpressible, type NativeRequest, nativeRefusal } from "../../domain/Native.ts"

interface Ranked {
  readonly ranked: ReadonlyArray<Candidate>
  readonly groupSizes: ReadonlyArray<number>
  readonly excluded: ReadonlyArray<Exclusion>
  readonly unroutable: GatewayError | null
}

/** `native`: undefined for requests that have no form of their own. */
export const sendable = (route: Ranked, native: NativeRequest | undefined): Ranked => {
  if (native === undefined || (native.only === null && native.accountObjects === null)) return route
  const ranked: Array<Candidate> = []
  const excluded = [...route.excluded]
  let refusal: Inexpressible | null = null
  const groupSizes: Array<number> = []
  let at = 0
  for (const size of route.groupSizes.length === 0 ? [route.ranked.length] : route.groupSizes) {
    const before = ranked.length
    for (const candidate of route.ranked.slice(at, at + size)) {
      const found = nativeRefusal(native, candidate)
      if (found === null) ranked.push(candidate)
      else {
        // Where some candidate fails for its account alone, the operator can help.
        if (refusal === null || found !== native.only) refusal = found
        excluded.push({ slug: candidate.provider.slug, model: candidate.offer.id, reason: "native_request" })
      }
    }
    if (ranked.length > before) groupSizes.push(ranked.length - before)
    at += size
  }
  if (refusal === null) return route
  return {
    ranked,
    groupSizes: route.groupSizes.length === 0 ? [] : groupSizes,
    excluded,
    unroutable: ranked.length === 0 ? refused(refusal) : null
  }
}

const refused = ({ message, param }: Inexpressible): GatewayError =>
  gatewayError(new InvalidRequest({ message, param, code: "unsupported_parameter", provider: null }))

/**
 * The member of a plan for `native`, whose further models have the ids that the whitelist names.
 */
export const withModelIds = (
  native: NativeRequest | undefined,
  resolve: (name: string) => Result.Result<{ readonly id: string }, unknown>
): { readonly native?: NativeRequest } => {
  if (native === undefined || native.models.length === 0) return native === undefined ? {} : { native }
  const idOf = (name: string) => Result.match(resolve(name), { onFailure: () => name, onSuccess: ({ id }) => id })
  return { native: { ...native, models: native.models.map(idOf) } }
}
