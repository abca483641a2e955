/** A request of the Responses API in its own form, for providers that speak it. */
import { type ResponsesRequest } from "../../api/responses/Request.ts"
import { type NativeRequest } from "../../domain/Native.ts"
import { type Asked } from "./Request.ts"

export const nativeRequest = (
  body: ResponsesRequest,
  headers: Readonly<Record<string, string | undefined>>,
  { accountObjects, only }: Pick<Asked, "accountObjects" | "only">
): NativeRequest => ({ dialect: "responses", body, headers: vendorHeaders(headers), only, accountObjects, models: [] })

/** Headers by which a client would choose an account of ours. */
const ofAccount = new Set(["openai-organization", "openai-project"])

/** All others of the vendor's, because each release of its clients has new ones. */
const vendorHeaders = (headers: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> => {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && name.startsWith("openai-") && !ofAccount.has(name)) kept[name] = value
  }
  return kept
}
