/** Prices of the catalogue: USD per token as decimal strings, shown per million tokens. */
import { usd } from "../format.ts"

export const perMillionUsd = (price: string): number => Number((Number(price) * 1e6).toPrecision(6))

export const perMillion = (price: string): string => usd(perMillionUsd(price))
