/** JSON that may be none. */
import { Option } from "effect"

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** The value of a JSON text; undefined when it is none, which no schema takes. */
export const parseJson = (text: string): unknown => Option.getOrUndefined(parse(text))
