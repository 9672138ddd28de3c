import { Readable } from 'node:stream'
import { toAnswerPiece } from '@trestle/common/server/answer-piece.ts'
import type { FastifyReply } from 'fastify'
import { CHUNK, type Chunk, type PageBounds } from '../pagination/page-query.ts'

/** The ways to read and to show a list. */
interface Listing<Row, View> {
  readonly page: PageBounds
  /** @throws what the caller is refused with */
  readonly read: (page: PageBounds) => Promise<Chunk<Row>>
  readonly view: (row: Row) => View
}

/**
 * Sends a page that may be large, a chunk at a time. It reads the next chunk when the client has taken the chunk before, and a
 * slot is free. A page of one chunk is returned as a whole. A longer page is sent by this function, which then resolves to
 * undefined.
 */
export async function answerInChunks<Row extends { readonly id: string }, View extends object>(
  reply: FastifyReply,
  listing: Listing<Row, View>,
): Promise<View[] | undefined> {
  const first = await readChunk(listing, listing.page, CHUNK.rows)
  if (first.rest === undefined) return first.views
  const next = (page: PageBounds, rowsMax: number) =>
    reply.request.withSlots(CHUNK.entries, async () => toBytes(await readChunk(listing, page, rowsMax)))
  // Each chunk waits for a slot and has its own statement timeout. A client that takes no bytes is disconnected.
  reply.liftDeadline()
  reply.type('application/json; charset=utf-8')
  await reply.send(Readable.from(writeChunks(toBytes(first), next)))
  return undefined
}

interface ReadChunk<View> {
  readonly views: View[]
  /** The rows of the page that are still to be read. */
  readonly rest: PageBounds | undefined
}

async function readChunk<Row extends { readonly id: string }, View extends object>(
  { read, view }: Listing<Row, View>,
  page: PageBounds,
  rowsMax: number,
): Promise<ReadChunk<View>> {
  const limit = Math.min(page.limit, rowsMax)
  const { rows, isCut } = await read({ ...page, limit })
  const last = rows.at(-1)
  const rest = page.limit - rows.length
  const isEnd = last === undefined || rest <= 0 || (rows.length < limit && !isCut)
  const bound = page.order === 'newest-first' ? 'below' : 'above'
  return { views: rows.map(view), rest: isEnd ? undefined : { ...page, limit: rest, [bound]: last.id } }
}

/** The bytes of a chunk. Its rows are not kept, because a slow client may take minutes. */
interface ChunkBytes {
  readonly bytes: Buffer
  readonly rest: PageBounds | undefined
  /** The most rows of the next chunk, whose rows are taken to be as large. */
  readonly rowsMax: number
}

function toBytes<View>({ views, rest }: ReadChunk<View>): ChunkBytes {
  const texts = views.map((view) => JSON.stringify(view))
  const bytes = toAnswerPiece(texts, ',\n')
  const fitting = Math.floor((CHUNK.bytes * views.length) / Math.max(bytes.length, 1))
  return { bytes, rest, rowsMax: Math.min(CHUNK.rows, Math.max(fitting, 1)) }
}

/** The text of `layOut`. */
async function* writeChunks(
  first: ChunkBytes,
  next: (page: PageBounds, rowsMax: number) => Promise<ChunkBytes>,
): AsyncIterable<Buffer | string> {
  yield '[\n'
  yield first.bytes
  for (let { rest, rowsMax } = first; rest !== undefined; ) {
    const chunk: ChunkBytes = await next(rest, rowsMax)
    if (chunk.bytes.length > 0) {
      yield ',\n'
      yield chunk.bytes
    }
    rest = chunk.rest
    rowsMax = chunk.rowsMax
  }
  yield '\n]\n'
}
