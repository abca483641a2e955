/**
 * Makes the PNG of a page small: 256 colours and the densest compression. Reads 8-bit RGB and RGBA
 * without interlacing, as browsers write them.
 */
import { crc32, deflateSync, inflateSync } from "node:zlib"

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const MOST_COLOURS = 256

interface Image {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each point. */
  readonly points: Buffer
}

const read = (png: Buffer): Image => {
  let [width, height, channels] = [0, 0, 0]
  const data: Array<Buffer> = []
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const type = png.toString("latin1", at + 4, at + 8)
    const body = png.subarray(at + 8, at + 8 + png.readUInt32BE(at))
    if (type === "IDAT") data.push(body)
    if (type !== "IHDR") continue
    ;[width, height, channels] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9] === 6 ? 4 : 3]
  }
  const lines = inflateSync(Buffer.concat(data))
  const length = width * channels
  const plain = Buffer.alloc(length * height)
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (length + 1)]
    for (let x = 0; x < length; x++) {
      const left = x < channels ? 0 : (plain[y * length + x - channels] ?? 0)
      const up = y === 0 ? 0 : (plain[(y - 1) * length + x] ?? 0)
      const corner = x < channels || y === 0 ? 0 : (plain[(y - 1) * length + x - channels] ?? 0)
      plain[y * length + x] = (lines[y * (length + 1) + 1 + x] ?? 0) + predicted(filter, left, up, corner)
    }
  }
  const points = Buffer.alloc(width * height * 3)
  for (let at = 0; at < width * height; at++) plain.copy(points, at * 3, at * channels, at * channels + 3)
  return { width, height, points }
}

const predicted = (filter: number | undefined, left: number, up: number, corner: number): number => {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return Math.floor((left + up) / 2)
  if (filter !== 4) return 0
  const estimate = left + up - corner
  const [toLeft, toUp, toCorner] = [left, up, corner].map((one) => Math.abs(estimate - one)) as [number, number, number]
  return toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner
}

/** The most frequent colours, and the nearest of them for each other colour. */
const paletteOf = ({
  points
}: Image): { readonly colours: ReadonlyArray<number>; readonly indexOf: Map<number, number> } => {
  const counts = new Map<number, number>()
  for (let at = 0; at < points.length; at += 3) {
    const colour = points.readUIntBE(at, 3)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const sorted = [...counts.keys()].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0))
  const colours = sorted.slice(0, MOST_COLOURS)
  const parts = (colour: number) => [colour >> 16, (colour >> 8) & 255, colour & 255] as const
  const indexOf = new Map(colours.map((colour, index) => [colour, index]))
  for (const colour of sorted.slice(MOST_COLOURS)) {
    const [red, green, blue] = parts(colour)
    let [nearest, distance] = [0, Infinity]
    colours.forEach((one, index) => {
      const [r, g, b] = parts(one)
      const apart = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2
      if (apart < distance) [nearest, distance] = [index, apart]
    })
    indexOf.set(colour, nearest)
  }
  return { colours, indexOf }
}

const chunk = (type: string, body: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(body.length)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}

export const withPalette = (png: Buffer): Buffer => {
  const image = read(png)
  const { colours, indexOf } = paletteOf(image)
  const { height, points, width } = image
  const lines = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      lines[y * (width + 1) + 1 + x] = indexOf.get(points.readUIntBE((y * width + x) * 3, 3)) ?? 0
    }
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // 8 bits of an index into the palette.
  head.set([8, 3, 0, 0, 0], 8)
  const palette = Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  const data = deflateSync(lines, { level: 9, memLevel: 9 })
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", head),
    chunk("PLTE", palette),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0))
  ])
}
