/**
 * Values of every entity as people write them, made after the issuers' own rules (numbering plans, issuer ranges, check digits) and
 * without any code of the gateway's, so that the two check each other. Nothing here belongs to anybody but by chance.
 */
import { type Entity } from "../../src/domain/Privacy.ts"
import { type Dice, DIGITS } from "./Dice.ts"
import { secretOf } from "./SecretValues.ts"

const people = [
  "ann",
  "bob",
  "carla",
  "dimitri",
  "eva.maria",
  "frank_lee",
  "g.hopper",
  "müller",
  "o'brien",
  "x9",
  "josé"
]
const hosts = [
  "example.com",
  "mail.example.org",
  "firma.de",
  "uni-zh.ch",
  "a.co",
  "dept.gov.uk",
  "büro.at",
  "xn--bro-hoa.at"
]

const email = (dice: Dice): string => {
  const name = dice.pick(people)
  const tag = dice.chance(0.2) ? `+${dice.pick(["news", "2024", "shop-1"])}` : ""
  const address = `${name}${dice.chance(0.3) ? dice.int(1, 99) : ""}${tag}@${dice.pick(hosts)}`
  return dice.chance(0.1) ? address.toUpperCase() : address
}

/** By country: its code, and its numbers as they are grouped there; `~` is where the country puts its mark. */
const plans: Readonly<Record<string, readonly [code: string, forms: ReadonlyArray<string>]>> = {
  US: ["1", ["212~%##~####", "415~%##~####", "617~%##~####", "206~%##~####"]],
  GB: ["44", ["20~7946~0###", "161~496~0###", "7911~12####"]],
  DE: ["49", ["30~%######", "89~%######", "151~5#######", "171~%######"]],
  FR: ["33", ["1~42~##~##~##", "6~12~##~##~##", "4~91~##~##~##"]],
  CH: ["41", ["44~668~##~##", "79~%##~##~##", "31~322~##~##"]],
  IT: ["39", ["06~698~%####", "347~%######", "02~7200~####"]],
  ES: ["34", ["912~%##~###", "612~###~###", "932~%##~###"]],
  NL: ["31", ["20~624~####", "6~12~##~##~##"]],
  SE: ["46", ["8~508~###~##", "70~%##~##~##"]],
  PL: ["48", ["22~628~##~##", "501~%##~###"]],
  JP: ["81", ["3~3%##~####", "90~%###~####"]],
  BR: ["55", ["11~98###~####", "21~3%##~####"]],
  IN: ["91", ["98###~#####", "22~2%##~####"]],
  AU: ["61", ["2~9374~####", "412~%##~###"]]
}
export const phoneLocales: ReadonlyArray<string> = Object.keys(plans)

export const phoneOf = (dice: Dice, country: string): string => {
  const [code, forms] = plans[country] ?? ["1", []]
  const national = dice.form(dice.pick(forms))
  const spaced = national.replaceAll("~", " ")
  const [area = "", ...rest] = national.split("~")
  switch (dice.int(0, 7)) {
    case 0:
      return `+${code}${national.replaceAll("~", "")}`
    case 1:
      return `+${code}-${national.replaceAll("~", "-")}`
    case 2:
      return `+${code} (${area}) ${rest.join(" ")}`
    case 3:
      return `00${code} ${spaced}`
    case 4:
      return `+${code}.${national.replaceAll("~", ".")}`
    case 5:
      // The trunk zero in brackets; North America and Italy have none to bracket.
      return ["US", "IT", "ES", "PL"].includes(country) ? `+${code} ${spaced}` : `+${code} (0)${spaced}`
    case 6:
      return country === "US" ? `(${area}) ${rest.join("-")}` : `+${code}\u00a0${spaced}`
    default:
      return `+${code} ${spaced}`
  }
}

/** The digits with their Luhn check digit. */
export const withLuhn = (digits: string): string => {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits.at(-1 - at))
    const weighed = at % 2 === 0 ? digit * 2 : digit
    sum += weighed > 9 ? weighed - 9 : weighed
  }
  return `${digits}${(10 - (sum % 10)) % 10}`
}

const cards = [
  ["4", 16],
  ["51", 16],
  ["55", 16],
  ["2221", 16],
  ["2720", 16],
  ["34", 15],
  ["37", 15],
  ["6011", 16],
  ["36", 14],
  ["3530", 16]
] as const

const card = (dice: Dice): string => {
  const [issuer, length] = dice.pick(cards)
  const digits = withLuhn(issuer + dice.chars(DIGITS, length - issuer.length - 1))
  const mark = dice.pick(["", " ", "-"])
  const sizes = length === 16 ? [4, 4, 4, 4] : length === 15 ? [4, 6, 5] : [4, 6, 4]
  let at = 0
  return sizes.map((size) => digits.slice(at, (at += size))).join(mark)
}

/** Real ones of banks' own documents, for countries whose accounts have check digits of their own. */
const publishedIbans = [
  "FR1420041010050500013M02606",
  "ES9121000418450200051332",
  "IT60X0542811101000000123456",
  "BE68539007547034",
  "NO9386011117947",
  "PT50000201231234567890154",
  "FI2112345600000785"
]
const ibanForms = [
  ["CH", "#################"],
  ["DE", "##################"],
  ["GB", "@@@@##############"],
  ["NL", "@@@@##########"],
  ["AT", "################"],
  ["LU", "################"],
  ["IE", "@@@@##############"],
  ["SE", "####################"]
] as const

const mod97 = (text: string): number => {
  let rest = 0
  for (const character of text) rest = Number(`${rest}${parseInt(character, 36)}`) % 97
  return rest
}

export const ibanOf = (country: string, account: string): string =>
  `${country}${String(98 - mod97(`${account}${country}00`)).padStart(2, "0")}${account}`

const iban = (dice: Dice): string => {
  const [country, form] = dice.pick(ibanForms)
  const compact = dice.chance(0.3) ? dice.pick(publishedIbans) : ibanOf(country, dice.form(form))
  return dice.chance(0.5) ? (compact.match(/.{1,4}/g) ?? []).join(" ") : compact
}

const ssn = (dice: Dice): string => {
  const area = dice.pick([dice.int(1, 665), dice.int(667, 899)])
  return `${String(area).padStart(3, "0")}-${String(dice.int(1, 99)).padStart(2, "0")}-${String(dice.int(1, 9999)).padStart(4, "0")}`
}

const ip = (dice: Dice): string => {
  if (dice.chance(0.6)) return `${dice.int(1, 223)}.${dice.int(0, 255)}.${dice.int(0, 255)}.${dice.int(1, 254)}`
  return dice.pick([
    dice.form("2001:db8:xxxx:xxxx:xxxx:xxxx:xxxx:xxx1"),
    dice.form("2001:db8::xxx1"),
    dice.form("fe80::xxx2:xxff:fexx:xxx3"),
    dice.form("::ffff:192.0.2.1"),
    dice.form("2a02:168:xxx1::9")
  ])
}

/** A value as it is written, in it what has to be found, and what it is preceded by where that matters. */
export const valueOf = (dice: Dice, entity: Entity): { readonly text: string; readonly found: string } => {
  const plain = (found: string) => ({ text: found, found })
  switch (entity) {
    case "email":
      return plain(email(dice))
    case "phone":
      return plain(phoneOf(dice, dice.pick(phoneLocales)))
    case "credit_card":
      return plain(card(dice))
    case "iban":
      return plain(iban(dice))
    case "us_ssn": {
      const number = ssn(dice)
      if (dice.chance(0.7)) return plain(number)
      const bare = number.replaceAll("-", dice.pick(["", " "]))
      return { text: `${dice.pick(["SSN ", "SSN: ", "social security number "])}${bare}`, found: bare }
    }
    case "ip_address":
      return plain(ip(dice))
    case "secret":
      return secretOf(dice)
  }
}
