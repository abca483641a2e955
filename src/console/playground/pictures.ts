/**
 * Pictures for a message: their kinds and sizes are checked, and large ones are made smaller. They
 * become data URLs; nothing is uploaded before the message is sent.
 */
import { type Picture } from "./thread.ts"

const kinds = ["image/png", "image/jpeg", "image/webp", "image/gif"]
export const ACCEPTED = kinds.join(",")
export const MOST_PICTURES = 4
/** A larger file is made smaller, if the browser can read it. */
const LARGE_BYTES = 1_000_000
const MOST_BYTES = 25_000_000
/** Models read no more than about this many pixels a side. */
const MOST_PIXELS = 2_048

const readAsUrl = (file: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener("load", () => resolve(reader.result as string))
    reader.addEventListener("error", () => reject(new Error("The browser cannot read the file.")))
    reader.readAsDataURL(file)
  })

const smaller = async (file: Blob): Promise<string> => {
  const bitmap = await createImageBitmap(file)
  const scale = Math.min(1, MOST_PIXELS / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement("canvas")
  canvas.width = Math.round(bitmap.width * scale)
  canvas.height = Math.round(bitmap.height * scale)
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  bitmap.close()
  return canvas.toDataURL("image/jpeg", 0.85)
}

/** The picture of a file, or why there is none. */
const read = async (file: File): Promise<Picture | string> => {
  const name = file.name === "" ? "pasted picture" : file.name
  if (!kinds.includes(file.type)) return `${name} is no PNG, JPEG, WebP or GIF picture.`
  if (file.size > MOST_BYTES) return `${name} has more than ${MOST_BYTES / 1_000_000} MB.`
  try {
    return { name, url: await (file.size > LARGE_BYTES ? smaller(file) : readAsUrl(file)) }
  } catch {
    return `${name} cannot be read as a picture.`
  }
}

export interface Attached {
  readonly pictures: ReadonlyArray<Picture>
  readonly faults: ReadonlyArray<string>
}

/** The pictures of some files. */
export const readPictures = async (files: ReadonlyArray<File>): Promise<Attached> => {
  const found = await Promise.all(files.slice(0, MOST_PICTURES).map(read))
  return {
    pictures: found.filter((one) => typeof one !== "string"),
    faults: found.filter((one) => typeof one === "string")
  }
}
