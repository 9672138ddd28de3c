import { joinToBytes } from '@trestle/common/server/join-to-bytes.ts'
import type { InventoryDeps } from '../deps.ts'
import type { Position } from '../paging/cursor.ts'
import { positionById } from '../paging/page-query.ts'
import { rowsThatFit } from '../products/product.ts'
import {
  type ProductPage,
  type ProductSelection,
  selectProducts,
  selectProductsById,
} from '../products/product-list.ts'
import { listProductsById } from '../products/product-repository.ts'
import { type Include, productDetailsJson, productJson } from '../products/product-view.ts'

/** Rows of a page that is read at once: a product may have 64 KiB. */
export const SHORT_ROWS = 51
/** Characters of a piece of a longer page, roughly; rows of the first one, and at most. */
const PIECE_LENGTH = 65_536
const [FIRST_ROWS, PIECE_ROWS] = [20, 100]

/** A product of a list as it is sent, and its place there. */
export interface ListedProductJson {
  readonly json: string
  readonly position: Position
}

/** What of the products of a page is shown, and until when somebody waits for it. */
export interface ShownProducts {
  readonly includes: readonly Include[]
  readonly signal: AbortSignal
}

type ListDeps = Pick<InventoryDeps, 'lanes' | 'readLagging'>

/** Whether the read lane has the page, among the reads of single products: it is short, and its plan is known. */
export function isPlainPage(selection: ProductSelection, { includes }: ShownProducts, { limit }: ProductPage): boolean {
  return limit <= SHORT_ROWS && selection.filters.length === 0 && selection.sort === 'id' && includes.length === 0
}

/** Products of a plain page; undefined when they are too long to be read at once. */
export async function listPlainProducts(
  { lanes }: ListDeps,
  page: ProductPage,
): Promise<ListedProductJson[] | undefined> {
  const products = await listProductsById(lanes, Number(page.after?.[0] ?? 0), page.limit)
  return products?.map((product) => ({ json: productJson(product), position: positionById(product) }))
}

/** Products of a short page, planned for the values of its selection. */
export async function listProducts(
  { readLagging }: ListDeps,
  { selection, shown }: { readonly selection: ProductSelection; readonly shown: ShownProducts },
  page: ProductPage,
): Promise<ListedProductJson[]> {
  const products = await readLagging((db) => selectProducts(db, selection, page), shown.signal)
  return products.map((product) => ({ json: productDetailsJson(product, shown.includes), position: product.position }))
}

/** Some products as they are sent, with commas between them, and how many more make a piece of the same size. */
interface Piece {
  readonly bytes: Uint8Array
  readonly nextCount: number
}

/** Products of a long page, a piece at a time: the next one is read when it is asked for. */
export async function* readPieces(
  ids: readonly number[],
  read: (ids: readonly number[]) => Promise<Piece>,
): AsyncGenerator<Uint8Array, void> {
  for (let at = 0, count = FIRST_ROWS; at < ids.length; ) {
    const { bytes, nextCount } = await read(ids.slice(at, at + count))
    at += count
    count = nextCount
    if (bytes.byteLength > 0) yield bytes
  }
}

/**
 * Those of the products that were not deleted meanwhile. To be called when the turn has come: what waits for long is old to V8,
 * and would keep rows that it is given until the next full collection.
 */
export async function readPiece(
  { readLagging }: ListDeps,
  ids: readonly number[],
  { includes, signal }: ShownProducts,
): Promise<Piece> {
  const products = await readLagging((db) => selectProductsById(db, ids), signal)
  const nextCount = rowsThatFit(products, { characters: PIECE_LENGTH, max: PIECE_ROWS })
  return {
    nextCount,
    bytes: joinToBytes(
      products.map((product) => productDetailsJson(product, includes)),
      ',',
    ),
  }
}
