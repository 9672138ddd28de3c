import { toAnswerPiece } from '@trestle/common/server/answer-piece.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { Pools } from '@trestle/database/pools.ts'
import type { InventoryTables } from '../database.ts'
import { cutPage, type Page, type PageLimits, type Position, positionById, readPage } from '../pagination/page.ts'
import { type Include, productDetailsJson, productJson, requireProduct, rowsThatFit } from '../products/product.ts'
import {
  type AttributesForm,
  countProducts,
  listPlaces,
  listProductsByIds,
  listSelectedProducts,
  type ProductPage,
  type ProductSelection,
  positionFormsOf,
} from '../products/product-list-repository.ts'
import { nameOfSelection, type ProductListKeywords, readSelection } from '../products/product-query.ts'
import { findProduct, findProductDetails, listProductsById } from '../products/product-repository.ts'
import type { ConcurrencyLimits } from '../rate-limits/concurrency-limits.ts'

/** A page of at most 50 rows, plus one row that shows whether a next page exists. Longer pages are read in pieces. */
const SHORT_ROWS = 51
/** The approximate length of a piece of a long page, in characters. A product may have 64 KiB. */
const PIECE_LENGTH = 65_536
/** The number of rows of the first piece, and the maximum for later pieces. */
const [FIRST_ROWS, PIECE_ROWS] = [20, 100]

type ListDeps = Pick<Database<InventoryTables>, 'pools' | 'readLagging'> &
  Pick<ConcurrencyLimits, 'listReads' | 'longPages'> & { readonly config: PageLimits }

export interface ListProductsInput {
  /** The path of the list. Its cursors are valid only for this path. */
  readonly path: string
  readonly keywords: ProductListKeywords
  /** Identifies the client for its share of the slots. */
  readonly client: string
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** A page of products. A short page is read immediately, a long page as fast as its client receives it. */
export type ListedProducts = {
  /** The cursor of the next page. `undefined` on the last page. */
  readonly next: string | undefined
  /** The number of matching products, if requested. */
  readonly total: number | undefined
} & (
  | { readonly kind: 'short'; readonly records: readonly string[] }
  /** `slot` must be disposed of at the end of the answer. */
  | { readonly kind: 'long'; readonly pieces: AsyncIterable<Uint8Array>; readonly slot: Disposable }
)

interface ListRequest extends Pick<ListProductsInput, 'client' | 'signal'> {
  readonly selection: ProductSelection
  readonly page: ProductPage
  readonly includes: readonly Include[]
  readonly form: AttributesForm
  readonly cut: <T extends { readonly position: Position }>(found: readonly T[]) => Page<T>
}

/** Lists products (reference: Product filters, Long pages). @throws serverBusy if too many long pages are open */
export async function listProducts(deps: ListDeps, input: ListProductsInput): Promise<ListedProducts> {
  const request = readRequest(deps, input)
  const { selection, page, signal } = request
  const total =
    input.keywords.count === undefined
      ? undefined
      : await withListSlot(deps, request, () => deps.readLagging((db) => countProducts(db, selection.filters), signal))
  const found = page.limit <= SHORT_ROWS ? await findShortPage(deps, request) : undefined
  if (found === undefined) return { total, ...(await openLongPage(deps, request)) }
  const { rows, next } = request.cut(found)
  return { kind: 'short', total, next, records: rows.map(({ json }) => json) }
}

function readRequest({ config }: ListDeps, input: ListProductsInput): ListRequest {
  const { path, keywords, client, signal } = input
  const {
    limit: _limit,
    cursor: _cursor,
    include: includes = [],
    attributes: form = 'whole',
    count: _count,
    ...chosen
  } = keywords
  const selection = readSelection(chosen)
  const listing = {
    path,
    selection: nameOfSelection(chosen),
    positionForms: positionFormsOf(selection.sort),
  }
  const { limit, after } = readPage(listing, config, keywords)
  return {
    selection,
    page: { limit: limit + 1, after },
    includes,
    form,
    client,
    signal,
    cut: (found) => cutPage(listing, limit, found, ({ position }) => position),
  }
}

/** Runs a read in a slot, so that lists of a client wait only for lists of the same client. */
function withListSlot<T>({ listReads }: ListDeps, { client }: ListRequest, read: () => Promise<T>): Promise<T> {
  return listReads.run(read, { client })
}

/**
 * Returns the products of a short page. A plain page (by id, with whole attributes, without filters and `include`) runs as a
 * prepared query on the read pool, like reads of single products. It is `undefined` if it is too long for this pool. Other pages
 * are planned with their values.
 */
async function findShortPage(
  deps: ListDeps,
  request: ListRequest,
): Promise<readonly { readonly json: string; readonly position: Position }[] | undefined> {
  const { selection, page, includes, form, signal } = request
  const isOfIds = selection.filters.length === 0 && selection.sort === 'id'
  if (isOfIds && includes.length === 0 && form === 'whole') {
    const plain = await listProductsById(deps.pools, Number(page.after?.[0] ?? 0), page.limit)
    return plain?.map((product) => ({ json: productJson(product), position: positionById(product) }))
  }
  const products = await withListSlot(deps, request, () =>
    deps.readLagging((db) => listSelectedProducts(db, selection, page, form), signal),
  )
  return products.map((product) => ({ json: productDetailsJson(product, includes), position: product.position }))
}

/** Selects the rows of a long page now. Their products are read later, piece by piece on demand. */
async function openLongPage(deps: ListDeps, request: ListRequest) {
  const { selection, page, client, signal } = request
  const slot = deps.longPages.take(client)
  try {
    const places = await withListSlot(deps, request, () =>
      deps.readLagging((db) => listPlaces(db, selection, page), signal),
    )
    const { rows, next } = request.cut(places)
    const ids = rows.map(({ id }) => id)
    const readNext = (some: readonly number[]) => withListSlot(deps, request, () => readPiece(deps, some, request))
    return { kind: 'long', next, slot, pieces: readPieces(ids, readNext) } as const
  } catch (error) {
    slot[Symbol.dispose]()
    throw error
  }
}

/** The JSON of products, separated by commas, and how many further products make a piece of the same size. */
interface Piece {
  readonly bytes: Uint8Array
  readonly nextCount: number
}

async function* readPieces(
  ids: readonly number[],
  readNext: (ids: readonly number[]) => Promise<Piece>,
): AsyncGenerator<Uint8Array, void> {
  for (let at = 0, count = FIRST_ROWS; at < ids.length; ) {
    const { bytes, nextCount } = await readNext(ids.slice(at, at + count))
    at += count
    count = nextCount
    if (bytes.byteLength > 0) yield bytes
  }
}

/**
 * Reads the products that still exist. Call it only with a free slot. V8 moves objects that wait long to the old generation,
 * which would keep the rows in memory until the next full garbage collection.
 */
async function readPiece(
  { readLagging }: ListDeps,
  ids: readonly number[],
  { includes, form, signal }: ListRequest,
): Promise<Piece> {
  const products = await readLagging((db) => listProductsByIds(db, ids, form), signal)
  const nextCount = rowsThatFit(products, { characters: PIECE_LENGTH, max: PIECE_ROWS })
  return {
    nextCount,
    bytes: toAnswerPiece(
      products.map((product) => productDetailsJson(product, includes)),
      ',',
    ),
  }
}

interface ShownProduct {
  readonly json: string
  readonly version: number
}

/** Returns a product with the members of `include`. @throws productNotFound if the product does not exist */
export async function showProduct(
  { pools }: { readonly pools: Pools },
  { id, includes }: { readonly id: number; readonly includes: readonly Include[] },
): Promise<ShownProduct> {
  return requireProduct(includes.length === 0 ? await showPlain(pools, id) : await showDetails(pools, id, includes))
}

async function showPlain(pools: Pools, id: number): Promise<ShownProduct | undefined> {
  const product = await findProduct(pools, id)
  return product && { json: productJson(product), version: product.version }
}

async function showDetails(pools: Pools, id: number, includes: readonly Include[]): Promise<ShownProduct | undefined> {
  const product = await findProductDetails(pools, id)
  return product && { json: productDetailsJson(product, includes), version: product.version }
}
