/**
 * The AWS region of a Bedrock provider. It is part of the host name
 * (`bedrock-runtime.eu-west-1.amazonaws.com`, also in the FIPS and VPC forms). For another host,
 * such as a proxy, it is the member `region` of the provider's `query` or `headers`. That member is
 * for the gateway only and is never sent.
 */
import { type ProviderConfig } from "../../domain/Catalog.ts"

const hostPattern =
  /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?(?:amazonaws\.com|api\.aws)/

/** Null if the region is not configured. */
export const bedrockRegion = ({
  baseUrl,
  headers,
  query
}: Pick<ProviderConfig, "baseUrl" | "headers" | "query">): string | null =>
  query["region"] ?? headers["region"] ?? hostPattern.exec(URL.parse(baseUrl)?.hostname ?? "")?.[1] ?? null

/**
 * The key pair in a provider's key, `ACCESS_KEY_ID:SECRET_ACCESS_KEY[:SESSION_TOKEN]`. Null if the
 * key is a bearer token.
 */
export const awsKeys = (
  key: string
): { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string } | null => {
  const [, accessKeyId, secretAccessKey, sessionToken] = /^([A-Z0-9]{8,128}):([^:\s]+)(?::(\S+))?$/.exec(key) ?? []
  if (accessKeyId === undefined || secretAccessKey === undefined) return null
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}
