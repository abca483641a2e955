/** Decodes the `cors` section of the settings file: the origins whose pages may use the API. */
import { Result, Schema } from "effect"
import { decodeAt, type Faults, type Place } from "../Faults.ts"
import { text } from "../Forms.ts"

const isOrigin = (value: string): boolean => value === "*" || URL.parse(value)?.origin === value

const CorsSection = Schema.Struct({
  origins: Schema.optionalKey(Schema.Array(text("an origin such as https://app.example.com, or *", isOrigin)))
})

/** `*` allows every origin. */
export const decodeCors = (place: Place): Result.Result<ReadonlyArray<string>, Faults> =>
  Result.map(decodeAt(CorsSection, place), ({ origins }) => origins ?? [])
