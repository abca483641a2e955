/**
 * Which AWS region a Bedrock provider is in. The host of its address says so (`bedrock-runtime.eu-west-1.amazonaws.com`,
 * its FIPS and VPC forms too); at another host, such as a proxy's, the member `region` of the provider's `query` or
 * `headers` does. That member is meant for the gateway and is never sent.
 */
import { type ProviderConfig } from "../../domain/Catalog.ts"

const hostPattern =
  /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?(?:amazonaws\.com|api\.aws)/

/** Null: nothing names the region. */
export const bedrockRegion = ({
  baseUrl,
  headers,
  query
}: Pick<ProviderConfig, "baseUrl" | "headers" | "query">): string | null =>
  query["region"] ?? headers["region"] ?? hostPattern.exec(URL.parse(baseUrl)?.hostname ?? "")?.[1] ?? null

/** The pair of keys in a provider's key, `ACCESS_KEY_ID:SECRET_ACCESS_KEY[:SESSION_TOKEN]`; null: it is a bearer token. */
export const awsKeys = (
  key: string
): { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string } | null => {
  const [, accessKeyId, secretAccessKey, sessionToken] = /^([A-Z0-9]{8,128}):([^:\s]+)(?::(\S+))?$/.exec(key) ?? []
  if (accessKeyId === undefined || secretAccessKey === undefined) return null
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}
