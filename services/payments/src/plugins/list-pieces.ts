import { Readable } from 'node:stream'
import { toAnswerPiece } from '@trestle/common/server/answer-piece.ts'
import type { FastifyReply } from 'fastify'
import { type PageBounds, PIECE, type Piece } from '../pagination/page-query.ts'

/** The ways to read and to show a list. */
interface Listing<Row, View> {
  readonly page: PageBounds
  /** @throws what the caller is refused with */
  readonly read: (page: PageBounds) => Promise<Piece<Row>>
  readonly view: (row: Row) => View
}

/**
 * Sends a page that may be large, a piece at a time: the next piece is read, in its turn, when the client has taken the
 * piece before. A page of one piece is returned as a whole. Otherwise returns undefined, when the answer has ended.
 */
export async function answerInPieces<Row extends { readonly id: string }, View extends object>(
  reply: FastifyReply,
  listing: Listing<Row, View>,
): Promise<View[] | undefined> {
  const first = await readPiece(listing, listing.page, PIECE.rows)
  if (first.rest === undefined) return first.views
  const next = (page: PageBounds, rowsMax: number) =>
    reply.request.withSlots(PIECE.entries, async () => toBytes(await readPiece(listing, page, rowsMax)))
  // Each piece has its own turn and statement timeout, and a client that takes nothing is cut.
  reply.liftDeadline()
  reply.type('application/json; charset=utf-8')
  await reply.send(Readable.from(writePieces(toBytes(first), next)))
  return undefined
}

interface ReadPiece<View> {
  readonly views: View[]
  /** The rows of the page that are still to be read. */
  readonly rest: PageBounds | undefined
}

async function readPiece<Row extends { readonly id: string }, View extends object>(
  { read, view }: Listing<Row, View>,
  page: PageBounds,
  rowsMax: number,
): Promise<ReadPiece<View>> {
  const limit = Math.min(page.limit, rowsMax)
  const { rows, isCut } = await read({ ...page, limit })
  const last = rows.at(-1)
  const rest = page.limit - rows.length
  const isEnd = last === undefined || rest <= 0 || (rows.length < limit && !isCut)
  const bound = page.order === 'newest-first' ? 'below' : 'above'
  return { views: rows.map(view), rest: isEnd ? undefined : { ...page, limit: rest, [bound]: last.id } }
}

/** The bytes of a piece. Its rows are not kept, because a slow client may take minutes. */
interface PieceBytes {
  readonly bytes: Buffer
  readonly rest: PageBounds | undefined
  /** The most rows of the next piece, whose rows are taken to be as large. */
  readonly rowsMax: number
}

function toBytes<View>({ views, rest }: ReadPiece<View>): PieceBytes {
  const texts = views.map((view) => JSON.stringify(view))
  const bytes = toAnswerPiece(texts, ',\n')
  const fitting = Math.floor((PIECE.bytes * views.length) / Math.max(bytes.length, 1))
  return { bytes, rest, rowsMax: Math.min(PIECE.rows, Math.max(fitting, 1)) }
}

/** The text of `layOut`. */
async function* writePieces(
  first: PieceBytes,
  next: (page: PageBounds, rowsMax: number) => Promise<PieceBytes>,
): AsyncIterable<Buffer | string> {
  yield '[\n'
  yield first.bytes
  for (let { rest, rowsMax } = first; rest !== undefined; ) {
    const piece: PieceBytes = await next(rest, rowsMax)
    if (piece.bytes.length > 0) {
      yield ',\n'
      yield piece.bytes
    }
    rest = piece.rest
    rowsMax = piece.rowsMax
  }
  yield '\n]\n'
}
