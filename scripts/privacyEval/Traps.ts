/** Texts that look like personal data but are not. Masking them would distort a prompt. */
import { BASE62, type Dice, DIGITS, HEX } from "./Dice.ts"
import { withLuhn } from "./Values.ts"

export const traps: Readonly<Record<string, (dice: Dice) => string>> = {
  "a version": (dice) => `v${dice.int(0, 20)}.${dice.int(0, 40)}.${dice.int(0, 99)}`,
  "a version of four parts": (dice) => `version ${dice.form("#.#.##.#")}`,
  "a browser": (dice) => `Chrome/${dice.int(100, 140)}.0.0.0 Safari/537.36`,
  "a release candidate": (dice) => dice.form("%.#.#.#-rc1"),
  "a section": (dice) => `section ${dice.form("%.#.#.#")}`,
  "an order": (dice) => dice.form("ORD-2024-00######"),
  "a short order": (dice) => `#${dice.int(1_000, 99_999)}`,
  "an order of ten digits": (dice) => `order ${dice.form("%#########")}`,
  "an order of twelve digits": (dice) => `order ${dice.form("%###########")}`,
  "any sixteen digits": (dice) => `transaction ${dice.form("################")}`,
  "a parcel": (dice) => dice.form("1Z999AA10#########"),
  "a price": (dice) => `$${dice.form("%,###.##")}`,
  "a big sum": (dice) => `CHF ${dice.form("%'###'###.##")}`,
  "a uuid": (dice) => dice.form("xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx"),
  "an md5": (dice) => dice.chars(HEX, 32),
  "a sha1": (dice) => dice.chars(HEX, 40),
  "a sha256": (dice) => `sha256:${dice.chars(HEX, 64)}`,
  "a date": (dice) => dice.form("2024-0%-1") + dice.int(0, 9),
  "a moment": (dice) => `2026-03-1${dice.int(0, 9)}T08:${dice.int(10, 59)}:30.123Z`,
  "a time": (dice) => `${dice.int(10, 23)}:${dice.int(10, 59)}:${dice.int(10, 59)}`,
  "a German date": (dice) => `${dice.int(10, 28)}.${dice.int(10, 12)}.${dice.int(1990, 2030)}`,
  "an offset": (dice) => `UTC+0${dice.int(1, 9)}:00`,
  "milliseconds of an epoch": (dice) => dice.form("17###########"),
  "an isbn": (dice) => dice.form("978-3-16-######-#"),
  "an ean": (dice) => dice.form("4006381######"),
  coordinates: (dice) => `${dice.form("47.######")}, ${dice.form("8.######")}`,
  "a MAC address": (dice) => dice.form("00:1x:xx:xx:xx:xx"),
  "a C++ name": (dice) => `std::${dice.pick(["vector", "map", "deque"])}`,
  "a package": (dice) => `@scope/pkg@${dice.form("#.##.#")}`,
  "a git remote": () => "git@github.com:org/repo.git",
  "an image": () => "logo@2x.png",
  "a handle": (dice) => `@${dice.pick(["ann", "the_bob", "carla99"])}`,
  "a zip code": (dice) => dice.form("94###-####"),
  "a sum in code": (dice) => dice.form("1000000+%######"),
  "a part number": (dice) => dice.form("@@-####-##"),
  "a card that fails its check": (dice) => failing(dice),
  "an IBAN that fails its check": (dice) => dice.form("DE00 #### #### #### #### ##"),
  "an SSN that was never given out": (dice) => dice.pick([dice.form("000-##-%###"), dice.form("987-00-%###")]),
  "an address that is none": (dice) => `${dice.int(256, 999)}.${dice.int(0, 255)}.${dice.int(0, 255)}.1`,
  "an identifier": (dice) => `req_${dice.chars(BASE62, 24)}`,
  "a reference to a secret": () => "api_key: process.env.OPENAI_API_KEY_2",
  "a count of tokens": (dice) => `max_tokens=${dice.int(16, 4096)}`,
  "a package name": () => "sk-learn-contrib-extensions-collection",
  "a css class": () => "sk-circle-fade-dot-animation-wrapper"
}

/** Sixteen digits of an issuer's range with a wrong check digit. */
const failing = (dice: Dice): string => {
  const right = withLuhn(`4${dice.chars(DIGITS, 14)}`)
  return right.slice(0, -1) + ((Number(right.at(-1)) + dice.int(1, 9)) % 10)
}
