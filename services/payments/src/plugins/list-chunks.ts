import { Readable } from 'node:stream'
import { toAnswerPiece } from '@trestle/common/server/answer-piece.ts'
import type { FastifyReply } from 'fastify'
import { CHUNK, type Chunk, type PageBounds } from '../pagination/page-query.ts'

/** How to read and how to display a list. */
interface Listing<Row, View> {
  readonly page: PageBounds
  /** @throws the refusal of the caller */
  readonly read: (page: PageBounds) => Promise<Chunk<Row>>
  readonly view: (row: Row) => View
}

/**
 * Sends a large page in chunks. It reads the next chunk when the client has received the previous one and a slot is free. A page
 * of one chunk is returned as a whole. The function sends a longer page itself and then resolves to `undefined`.
 */
export async function answerInChunks<Row extends { readonly id: string }, View extends object>(
  reply: FastifyReply,
  listing: Listing<Row, View>,
): Promise<View[] | undefined> {
  const first = await readChunk(listing, listing.page, CHUNK.rows)
  if (first.rest === undefined) return first.views
  const next = (page: PageBounds, rowsMax: number) =>
    reply.request.withSlots(CHUNK.entries, async () => toBytes(await readChunk(listing, page, rowsMax)))
  // Each chunk waits for a slot and has a statement timeout. A client that reads nothing is disconnected.
  reply.liftDeadline()
  reply.type('application/json; charset=utf-8')
  await reply.send(Readable.from(writeChunks(toBytes(first), next)))
  return undefined
}

interface ReadChunk<View> {
  readonly views: View[]
  /** The rest of the page that is still to be read. `undefined` at the end of the page. */
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

/** The bytes of a chunk. The rows are not kept in memory, because a slow client may take minutes. */
interface ChunkBytes {
  readonly bytes: Buffer
  readonly rest: PageBounds | undefined
  /** The maximum number of rows of the next chunk. The estimate assumes rows of the same size. */
  readonly rowsMax: number
}

function toBytes<View>({ views, rest }: ReadChunk<View>): ChunkBytes {
  const texts = views.map((view) => JSON.stringify(view))
  const bytes = toAnswerPiece(texts, ',\n')
  const fitting = Math.floor((CHUNK.bytes * views.length) / Math.max(bytes.length, 1))
  return { bytes, rest, rowsMax: Math.min(CHUNK.rows, Math.max(fitting, 1)) }
}

/** Writes the chunks in the same layout as `layOut`. */
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
