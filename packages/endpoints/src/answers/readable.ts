import type { ReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { type ByteStream, toBytes } from './byte-stream.ts'

/** A stream of Node.js; of a file it knows the length. It is destroyed in the end, whatever happens. */
export async function fromReadable(readable: Readable): Promise<ByteStream> {
  // An error comes to whoever reads; when nobody does, it must not end the process.
  readable.on('error', () => {})
  const length = isFileStream(readable) ? await fileLength(readable) : undefined
  const iterator: AsyncIterator<unknown> = readable[Symbol.asyncIterator]()
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await iterator.next()
    return done ? undefined : toBytes(value)
  }
  return { length, next, close: () => void new Promise((resolve) => resolve(readable.destroy())).catch(() => {}) }
}

export function isReadable(value: object): value is Readable {
  return 'pipe' in value && typeof value.pipe === 'function' && Symbol.asyncIterator in value
}

export function isFileStream(value: object): value is ReadStream {
  return isReadable(value) && 'bytesRead' in value && 'path' in value
}

async function fileLength(
  file: ReadStream & { fd?: unknown; start?: number; end?: number },
): Promise<number | undefined> {
  // One that was destroyed before it came here has told of it already.
  if (typeof file.fd !== 'number' && !file.destroyed) {
    await new Promise<void>((resolve) => {
      for (const event of ['open', 'error', 'close']) file.once(event, () => resolve())
    })
  }
  const { fd, start = 0, end = Number.POSITIVE_INFINITY } = file
  if (typeof fd !== 'number' || file.destroyed) return undefined
  const { fstat } = process.getBuiltinModule('node:fs')
  return new Promise((resolve) => {
    fstat(fd, (error, stats) => {
      resolve(error === null && stats.isFile() ? Math.max(0, Math.min(end + 1, stats.size) - start) : undefined)
    })
  })
}
