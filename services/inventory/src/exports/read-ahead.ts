import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FairGate } from '@trestle/common/capacity/fair-gate.ts'
import { serverBusy } from '../errors.ts'
import { EXPORT_READS, READ_WAIT_MS } from '../rate-limits/concurrency-limits.ts'

/** The number of bytes that an export keeps in memory before it uses a file. */
const MEMORY_BYTES = 65_536
const READ_BYTES = 32_768
/** The total time for which an export waits for its client after the space is full (reference: Concurrency limits). */
const SLOW_CLIENT_MS = 60_000

/**
 * The disk space that all exports share. The exports of one client may use at most half of it, so that other clients have space
 * too.
 */
export class SpoolSpace {
  /** The total time in milliseconds for which an export waits for its client after the space is full. */
  readonly patienceMs: number
  readonly #clientBytesMax: number
  readonly #taken = new Map<string, number>()
  #free: number

  constructor({ bytes, patienceMs }: { readonly bytes: number; readonly patienceMs: number }) {
    this.patienceMs = patienceMs
    this.#clientBytesMax = bytes / 2
    this.#free = bytes
  }

  take(client: string, bytes: number): boolean {
    const taken = (this.#taken.get(client) ?? 0) + bytes
    if (bytes > this.#free || taken > this.#clientBytesMax) return false
    this.#taken.set(client, taken)
    this.#free -= bytes
    return true
  }

  give(client: string, bytes: number): void {
    const taken = (this.#taken.get(client) ?? 0) - bytes
    if (taken > 0) this.#taken.set(client, taken)
    else this.#taken.delete(client)
    this.#free += bytes
  }
}

/** The space for pieces that clients have not read yet, and the slots for reading the database. */
export interface ReadingAhead {
  readonly space: SpoolSpace
  readonly reads: FairGate
}

/**
 * Reads a source to its end even if the client reads slowly, because a snapshot of the database must not wait for a client.
 * Pieces that the client has not read yet are stored in memory, then in a nameless file that ends with the process.
 * @param client identifies the client, which waits for its slot and has its share of the space
 * @throws serverBusy if the client gets no slot in time, Error if the space is full and the client does not catch up in time
 */
export async function* readAhead(
  source: AsyncIterable<Uint8Array>,
  { space, reads }: ReadingAhead,
  client = '',
): AsyncGenerator<Uint8Array, void> {
  const spool = new Spool(space, client)
  const filled = reads.run(() => spool.fill(source), { client }).finally(() => spool.end())
  // A failure of the source is thrown below, after the pieces that precede it.
  filled.catch(() => {})
  try {
    for (let piece = await spool.next(); piece !== undefined; piece = await spool.next()) yield piece
    await filled
  } finally {
    spool.abandon()
    await filled.catch(() => {})
    await spool.close()
  }
}

/** Opens the space that all exports of a process share. @param bytesMax the size of the space */
export function openReadingAhead(bytesMax: number): ReadingAhead {
  return {
    space: new SpoolSpace({ bytes: bytesMax, patienceMs: SLOW_CLIENT_MS }),
    reads: new FairGate({ ...EXPORT_READS, patienceMs: READ_WAIT_MS, refuse: serverBusy }),
  }
}

/**
 * A queue of pieces in memory and in a file. Pieces in memory precede pieces in the file. While the file contains pieces, new
 * pieces are added to the file.
 */
class Spool {
  readonly #space: SpoolSpace
  readonly #client: string
  #memory: Uint8Array[] = []
  #memoryBytes = 0
  #file: FileHandle | undefined
  #written = 0
  #read = 0
  #waitedMs = 0
  #isFilled = false
  #isAbandoned = false
  #change = Promise.withResolvers<void>()

  constructor(space: SpoolSpace, client: string) {
    this.#space = space
    this.#client = client
  }

  async fill(source: AsyncIterable<Uint8Array>): Promise<void> {
    if (this.#isAbandoned) return
    for await (const piece of source) {
      if (!(await this.#write(piece))) await this.#awaitClient()
      if (this.#isAbandoned) return
      this.#notify()
    }
  }

  end(): void {
    this.#isFilled = true
    this.#notify()
  }

  /** The next piece. `undefined` at the end and after a failure of the source. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = this.#memory.shift()
      if (piece !== undefined) {
        this.#memoryBytes -= piece.byteLength
        this.#notify()
        return piece
      }
      if (this.#read < this.#written) return this.#readFile()
      if (this.#isFilled) return undefined
      await this.#change.promise
    }
  }

  abandon(): void {
    this.#isAbandoned = true
    this.#notify()
  }

  async close(): Promise<void> {
    this.#space.give(this.#client, this.#written)
    await this.#file?.close()
  }

  /** Returns `false` if there was no space. The piece is then the only piece in memory. */
  async #write(piece: Uint8Array): Promise<boolean> {
    if (this.#read === this.#written) this.#empty()
    const isFileEmpty = this.#written === 0
    if (isFileEmpty && this.#memoryBytes + piece.byteLength <= MEMORY_BYTES) {
      this.#keep(piece)
      return true
    }
    if (this.#space.take(this.#client, piece.byteLength)) {
      if (await this.#writeFile(piece)) return true
      this.#space.give(this.#client, piece.byteLength)
    }
    if (!isFileEmpty) await this.#awaitClient()
    this.#keep(piece)
    return false
  }

  #keep(piece: Uint8Array): void {
    this.#memory.push(piece)
    this.#memoryBytes += piece.byteLength
  }

  /** Returns `false` if the disk refuses the piece. The spool then waits for the client, as if the space were full. */
  async #writeFile(piece: Uint8Array): Promise<boolean> {
    try {
      this.#file ??= await openNameless()
      for (let at = 0; at < piece.byteLength; ) {
        const { bytesWritten } = await this.#file.write(piece, at, piece.byteLength - at, this.#written + at)
        at += bytesWritten
      }
    } catch {
      return false
    }
    this.#written += piece.byteLength
    return true
  }

  async #readFile(): Promise<Uint8Array> {
    const bytes = new Uint8Array(Math.min(READ_BYTES, this.#written - this.#read))
    const { bytesRead } = (await this.#file?.read(bytes, 0, bytes.byteLength, this.#read)) ?? { bytesRead: 0 }
    if (bytesRead === 0) throw new Error('the file of an export has lost bytes')
    this.#read += bytesRead
    this.#notify()
    return bytes.subarray(0, bytesRead)
  }

  /**
   * Frees the space of a file that was read to its end. Only the writer may do this, because a piece that it is writing uses that
   * space.
   */
  #empty(): void {
    this.#space.give(this.#client, this.#written)
    this.#written = 0
    this.#read = 0
  }

  /** Waits until the client has read everything. */
  async #awaitClient(): Promise<void> {
    // The client may be waiting for the last piece.
    this.#notify()
    while (!this.#isAbandoned && (this.#memoryBytes > 0 || this.#read < this.#written)) {
      const left = this.#space.patienceMs - this.#waitedMs
      if (left <= 0) throw new Error('an export was read too slowly for the space that it needs')
      const startMs = performance.now()
      const timer = setTimeout(() => this.#notify(), left)
      await this.#change.promise
      clearTimeout(timer)
      this.#waitedMs += performance.now() - startMs
    }
  }

  #notify(): void {
    const { resolve } = this.#change
    this.#change = Promise.withResolvers()
    resolve()
  }
}

/** Opens a file that only this process can access. It ends with the process. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `inventory-export-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}
