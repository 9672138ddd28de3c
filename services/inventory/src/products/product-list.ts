import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { InventoryTables } from '../database.ts'
import type { Position } from '../paging/cursor.ts'
import { ID_FORM, type PositionForm } from '../paging/page-query.ts'
import { conditionOf } from './filter-condition.ts'
import type { ProductDetails } from './product.ts'
import type { ProductFilter } from './product-filter.ts'

/** The orders that a list can have; each begins with one of these and ends with the id. */
export const PRODUCT_SORTS = ['id', '-id', 'sku', '-sku', 'createdAt', '-createdAt', 'updatedAt', '-updatedAt'] as const
export type ProductSort = (typeof PRODUCT_SORTS)[number]

/** What a list of products is to show. */
export interface ProductSelection {
  readonly filters: readonly ProductFilter[]
  readonly sort: ProductSort
}

/** A product in a list, with its place there. */
export interface ListedProduct extends ProductDetails {
  readonly position: Position
}

/** A value that lists are ordered by: as the database compares it, and as a cursor holds it. */
interface SortKey {
  readonly column: RawBuilder<unknown>
  readonly text: RawBuilder<string>
  readonly form: PositionForm
  readonly type: RawBuilder<unknown>
}

const idKey: SortKey = {
  column: sql`id`,
  text: sql`id::text`,
  form: ID_FORM,
  type: sql`bigint`,
}
/** Text without U+0000, which PostgreSQL cannot compare with. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the character to refuse
const skuKey: SortKey = { column: sql`sku`, text: sql`sku`, form: /^[^\u0000]+$/, type: sql`text` }

function timeKey(column: RawBuilder<unknown>): SortKey {
  return {
    column,
    // With its microseconds, which a Date would drop.
    text: sql`to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    form: { test: isTime },
    type: sql`timestamptz`,
  }
}

/** Whether a text is a time with microseconds, and not one such as February 30, which the database refuses. */
function isTime(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(text)) return false
  const time = new Date(text)
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, -1) === text.slice(0, -4)
}

/** Skus of live products are unique: they need no id behind them. */
const sortKeys: Readonly<Record<string, readonly SortKey[]>> = {
  id: [idKey],
  sku: [skuKey],
  createdAt: [timeKey(sql`created_at`), idKey],
  updatedAt: [timeKey(sql`updated_at`), idKey],
}

function keysOf(sort: ProductSort): readonly SortKey[] {
  return sortKeys[sort.replace('-', '')] ?? []
}

/** What the values of a position look like in this order. */
export function positionFormsOf(sort: ProductSort): readonly PositionForm[] {
  return keysOf(sort).map(({ form }) => form)
}

/** Sums over the locations, as JSON. */
export const stockJson = sql<string>`(
  SELECT json_build_object('onHand', coalesce(sum(on_hand), 0), 'reserved', coalesce(sum(reserved), 0),
    'available', coalesce(sum(on_hand - reserved), 0))::text
  FROM ${sql.table('stock_levels')} WHERE product_id = id)`

/** A page of a list: at most `limit` rows behind a position. */
export interface ProductPage {
  readonly limit: number
  readonly after: Position | undefined
}

type ProductRow = Omit<ListedProduct, 'id'> & { readonly id: bigint }

/** The statement of a page. Its values are part of the plan: how many rows a filter leaves decides which index serves it. */
export function pageStatement(selection: ProductSelection, page: ProductPage): RawBuilder<ProductRow> {
  return sql`SELECT ${detailColumns}, ${positionOf(selection)} AS position ${rowsOf(selection, page)}`
}

const detailColumns = sql`
  id, sku, attributes::text AS attributes, version, created_at AS "createdAt", updated_at AS "updatedAt", ${stockJson} AS stock`

function positionOf({ sort }: ProductSelection): RawBuilder<Position> {
  return sql`ARRAY[${sql.join(keysOf(sort).map(({ text }) => text))}]`
}

function rowsOf({ filters, sort }: ProductSelection, { limit, after }: ProductPage): RawBuilder<unknown> {
  const keys = keysOf(sort)
  const conditions = [matchingCondition(filters)]
  if (after !== undefined) {
    const behind = isDescending(sort) ? sql`<` : sql`>`
    const bounds = keys.map(({ type }, at) => sql`${after[at]}::${type}`)
    conditions.push(sql`(${sql.join(keys.map(({ column }) => column))}) ${behind} (${sql.join(bounds)})`)
  }
  return sql`FROM ${sql.table('products')} WHERE ${sql.join(conditions, sql` AND `)} ORDER BY ${orderOf(sort)} LIMIT ${limit}`
}

/** Live products that meet all filters. */
export function matchingCondition(filters: readonly ProductFilter[]): RawBuilder<SqlBool> {
  return sql`${sql.join([sql`deleted_at IS NULL`, ...filters.map(conditionOf)], sql` AND `)}`
}

export function orderOf(sort: ProductSort): RawBuilder<unknown> {
  const direction = isDescending(sort) ? sql`DESC` : sql`ASC`
  return sql.join(keysOf(sort).map(({ column }) => sql`${column} ${direction}`))
}

function isDescending(sort: ProductSort): boolean {
  return sort.startsWith('-')
}

/** Live products that meet all filters, in the order of the selection. */
export async function selectProducts(
  db: Kysely<InventoryTables>,
  selection: ProductSelection,
  page: ProductPage,
): Promise<ListedProduct[]> {
  const { rows } = await pageStatement(selection, page).execute(db)
  return rows.map((row) => ({ ...row, id: Number(row.id) }))
}

/** A product's place in a list. */
export interface ProductPlace {
  readonly id: number
  readonly position: Position
}

/** The same products as `selectProducts`, without what they hold. */
export async function selectPlaces(
  db: Kysely<InventoryTables>,
  selection: ProductSelection,
  page: ProductPage,
): Promise<ProductPlace[]> {
  const { rows } = await sql<{ id: bigint; position: Position }>`
    SELECT id, ${positionOf(selection)} AS position ${rowsOf(selection, page)}`.execute(db)
  return rows.map(({ id, position }) => ({ id: Number(id), position }))
}

/** Those of these products that live, in the order of the ids. */
export async function selectProductsById(
  db: Kysely<InventoryTables>,
  ids: readonly number[],
): Promise<ProductDetails[]> {
  const { rows } = await sql<ProductRow>`
    SELECT ${detailColumns} FROM ${sql.table('products')} WHERE id = ANY(${ids}::bigint[]) AND deleted_at IS NULL`.execute(
    db,
  )
  const byId = new Map(rows.map((row) => [Number(row.id), row]))
  return ids.flatMap((id) => {
    const row = byId.get(id)
    return row === undefined ? [] : [{ ...row, id }]
  })
}

/** How many live products meet all filters. */
export async function countProducts(db: Kysely<InventoryTables>, filters: readonly ProductFilter[]): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`
    SELECT count(*) FROM ${sql.table('products')} WHERE ${matchingCondition(filters)}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
