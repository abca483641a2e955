/**
 * The `prices` section of the settings file: where a signed list of prices comes from on request,
 * the key that it must be signed with, and the file that keeps the accepted one. The list replaces
 * prices of presets' models at each start and reload. It is fetched by a command alone.
 */
import { Effect, Result, Schema } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { decodeAt, type Faults, type Place } from "../Faults.ts"
import { text } from "../Forms.ts"
import { type PriceList, publicKeyOf, readPriceList, repriced } from "../providers/PriceList.ts"
import { SettingsError } from "../SettingsError.ts"
import { type SettingsSource } from "../SettingsSource.ts"

export interface PricesSettings {
  /** The address of the list. */
  readonly url: string
  /** Base64 of the key's DER form. */
  readonly publicKey: string
  /** The accepted list. */
  readonly file: string
}

/** Without credentials, which would be shown with the settings. */
const isSafe = (address: string): boolean => {
  const url = URL.parse(address)
  if (url === null || url.username !== "" || url.password !== "") return false
  const isHere = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === "https:" || (url.protocol === "http:" && isHere)
}

const Section = Schema.Struct({
  url: text("an https:// address without credentials (http:// only of this machine)", isSafe),
  public_key: text(
    "an Ed25519 public key in base64, as scripts/sign-prices.ts prints it",
    (value) => publicKeyOf(value) !== null
  ),
  file: Schema.optionalKey(text("the path of a file, such as ./tollgate.prices.json"))
})

export const decodePrices = (place: Place): Result.Result<PricesSettings, Faults> =>
  Result.map(decodeAt(Section, place), ({ file = "./tollgate.prices.json", public_key: publicKey, url }) => ({
    url,
    publicKey,
    file
  }))

/** The accepted list. Null: there is none yet. Fails if the file is not what was accepted. */
export const acceptedPrices = Effect.fnUntraced(function* (
  { file, publicKey }: PricesSettings,
  readFile: SettingsSource["readFile"]
): Effect.fn.Return<PriceList | null, SettingsError> {
  const refused = (problem: string) =>
    new SettingsError({
      faults: [{ setting: "prices.file", problem, expected: "a list that `tollgate prices refresh` wrote, or no file" }]
    })
  const found = yield* Effect.mapError(readFile(file), ({ code }) => refused(`cannot be read (${code})`))
  const key = publicKeyOf(publicKey)
  if (found === null || key === null) return null
  return yield* Effect.mapError(Effect.fromResult(readPriceList(found, key)), refused)
})

/** Providers of presets, with the prices of the accepted list. */
export const withPrices = (
  vendors: ReadonlyArray<ProviderConfig>,
  prices: PricesSettings | null,
  readFile: SettingsSource["readFile"]
): Effect.Effect<ReadonlyArray<ProviderConfig>, SettingsError> =>
  prices === null
    ? Effect.succeed(vendors)
    : Effect.map(acceptedPrices(prices, readFile), (list) =>
        list === null ? vendors : vendors.map((vendor) => repriced(vendor, list))
      )
