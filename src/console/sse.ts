/** Reads the events of a streamed answer. Ignores comments and unknown fields. */

/** Calls `onData` with each event's data until the stream ends. */
export const readEvents = async (body: ReadableStream<Uint8Array>, onData: (data: string) => void): Promise<void> => {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ""
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ""
    for (const block of blocks) {
      const data = block
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
      if (data.length > 0) onData(data.join("\n"))
    }
  }
}
