import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, stat, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PIECE_BYTES = 65_536

/** Bytes that can be read more than once. */
export interface RepeatableInput {
  /** Reads from the beginning. One reading at a time. */
  readonly read: () => AsyncIterable<Buffer>
  readonly close: () => Promise<void>
}

/**
 * Opens a file, or standard input. Standard input and pipes are copied to the disk. The copy has no name, so it is gone with the
 * process, however the process ends.
 * @param file undefined for standard input
 * @throws Error where the file is not there, or the folder of temporary files has no place
 */
export async function openRepeatable(file: string | undefined, stdin: AsyncIterable<Buffer>): Promise<RepeatableInput> {
  if (file === undefined) return copy(stdin)
  return (await stat(file)).isFile() ? toInput(await open(file)) : copy(createReadStream(file))
}

function toInput(handle: FileHandle): RepeatableInput {
  return { read: () => readFromStart(handle), close: () => handle.close() }
}

/** The streams of a handle close it, or do not end. */
async function* readFromStart(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(PIECE_BYTES), position })
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Nobody else may read the copy: it may hold hashes of passwords. */
async function copy(chunks: AsyncIterable<Buffer>): Promise<RepeatableInput> {
  const path = join(tmpdir(), `auth-import-${randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    await handle.writeFile(chunks)
  } catch (error) {
    await handle.close()
    throw error
  }
  return toInput(handle)
}
