/**
 * Saves what the API answers at a path as a file. It is fetched with the session's credential,
 * which is never part of an address. A failure is shown at the button.
 */
import { useState } from "preact/hooks"
import { asFailure, fetchFile } from "../client.ts"

const save = (file: Blob, name: string): void => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  // The browser reads the file after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const size = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

interface DownloadProps {
  readonly path: () => string
  /** The file's name without the date and `.csv`. */
  readonly name: string
}

export const DownloadCsv = ({ name, path }: DownloadProps) => {
  const [bytes, setBytes] = useState<number>()
  const [failure, setFailure] = useState<string>()
  const download = async () => {
    setFailure(undefined)
    setBytes(0)
    try {
      const file = await fetchFile(path(), setBytes)
      save(file, `${name} ${new Date().toISOString().slice(0, 10)}.csv`)
    } catch (thrown) {
      setFailure(asFailure(thrown).message)
    }
    setBytes(undefined)
  }
  const isBusy = bytes !== undefined
  return (
    <>
      {failure === undefined ? null : (
        <span class="fault" role="alert">
          {failure}
        </span>
      )}
      <button
        type="button"
        class="button small"
        aria-disabled={isBusy}
        onClick={() => (isBusy ? undefined : void download())}
      >
        {isBusy ? `Downloading ${size(bytes)}` : "Download CSV"}
      </button>
    </>
  )
}
