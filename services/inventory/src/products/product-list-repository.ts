import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from '../database.ts'
import { ID_FORM, type Position, type PositionForm } from '../pagination/page.ts'
import type { ListedDetails } from './product.ts'
import type { ProductFilter } from './product-filter.ts'

/** Equal values are sorted by id. */
export const PRODUCT_SORTS = ['id', '-id', 'sku', '-sku', 'createdAt', '-createdAt', 'updatedAt', '-updatedAt'] as const
/** A minus sign means descending order. */
export type ProductSort = (typeof PRODUCT_SORTS)[number]

export interface ProductSelection {
  readonly filters: readonly ProductFilter[]
  readonly sort: ProductSort
}

export const ATTRIBUTES_FORMS = ['short'] as const
/** `short`: long attributes are omitted and not read. */
export type AttributesForm = (typeof ATTRIBUTES_FORMS)[number] | 'whole'

/** The maximum size of attributes in a short list, in bytes of JSON text. */
const SHORT_BYTES_MAX = 4_096

export interface ListedProduct extends ListedDetails {
  readonly position: Position
}

/** A value by which lists are sorted: the column that PostgreSQL compares, and the text in a cursor. */
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
/** A text without U+0000, which PostgreSQL refuses in comparisons. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the character to refuse
const skuKey: SortKey = { column: sql`sku`, text: sql`sku`, form: /^[^\u0000]+$/, type: sql`text` }

function timeKey(column: RawBuilder<unknown>): SortKey {
  return {
    column,
    // Include microseconds, which a `Date` would lose.
    text: sql`to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    form: { test: isTime },
    type: sql`timestamptz`,
  }
}

/** Whether a text is a time with microseconds. PostgreSQL refuses dates such as February 30. */
function isTime(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(text)) return false
  const time = new Date(text)
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, -1) === text.slice(0, -4)
}

/** The SKUs of live products are unique, so sorting by SKU needs no id. */
const sortKeys: Readonly<Record<string, readonly SortKey[]>> = {
  id: [idKey],
  sku: [skuKey],
  createdAt: [timeKey(sql`created_at`), idKey],
  updatedAt: [timeKey(sql`updated_at`), idKey],
}

function keysOf(sort: ProductSort): readonly SortKey[] {
  return sortKeys[sort.replace('-', '')] ?? []
}

export function positionFormsOf(sort: ProductSort): readonly PositionForm[] {
  return keysOf(sort).map(({ form }) => form)
}

/** The stock of a product, summed over its locations, as JSON. */
export const stockJson = sql<string>`(
  SELECT format('{"onHand":%s,"reserved":%s,"available":%s}', coalesce(sum(on_hand), 0), coalesce(sum(reserved), 0),
    coalesce(sum(on_hand - reserved), 0))
  FROM ${sql.table('stock_levels')} WHERE product_id = id)`

export interface ProductPage {
  readonly limit: number
  readonly after: Position | undefined
}

type ProductRow = Omit<ListedProduct, 'id' | 'attributesBytes'> & {
  readonly id: bigint
  readonly attributesBytes: number | null
}

/** The statement of a page. It is planned for its values, because the best index depends on the number of matching rows. */
export function pageStatement(
  selection: ProductSelection,
  page: ProductPage,
  form: AttributesForm = 'whole',
): RawBuilder<ProductRow> {
  return sql`SELECT ${detailColumns(form)}, ${positionOf(selection)} AS position ${rowsOf(selection, page)}`
}

function detailColumns(form: AttributesForm): RawBuilder<unknown> {
  const isLong = form === 'short' ? sql`attributes_length > ${sql.lit(SHORT_BYTES_MAX)}` : sql`false`
  return sql`id, sku, CASE WHEN ${isLong} THEN NULL ELSE attributes::text END AS attributes,
    CASE WHEN ${isLong} THEN attributes_length END AS "attributesBytes",
    version, created_at AS "createdAt", updated_at AS "updatedAt", ${stockJson} AS stock`
}

function toListed({ attributesBytes, ...row }: ProductRow): ListedProduct {
  return { ...row, id: Number(row.id), ...(attributesBytes === null ? {} : { attributesBytes }) }
}

function positionOf({ sort }: ProductSelection): RawBuilder<Position> {
  return sql`ARRAY[${sql.join(keysOf(sort).map(({ text }) => text))}]`
}

function rowsOf({ filters, sort }: ProductSelection, { limit, after }: ProductPage): RawBuilder<unknown> {
  const keys = keysOf(sort)
  const conditions = [matchingCondition(filters)]
  if (after !== undefined) {
    const comesAfter = isDescending(sort) ? sql`<` : sql`>`
    const bounds = keys.map(({ type }, at) => sql`${after[at]}::${type}`)
    conditions.push(sql`(${sql.join(keys.map(({ column }) => column))}) ${comesAfter} (${sql.join(bounds)})`)
  }
  return sql`FROM ${sql.table('products')} WHERE ${sql.join(conditions, sql` AND `)} ORDER BY ${orderOf(sort)} LIMIT ${limit}`
}

/** The condition for live products that match all filters. */
export function matchingCondition(filters: readonly ProductFilter[]): RawBuilder<SqlBool> {
  return sql`${sql.join([sql`deleted_at IS NULL`, ...filters.map(conditionOf)], sql` AND `)}`
}

/** Converts a filter to a condition on a row of `products`. The client's values are parameters. */
function conditionOf(filter: ProductFilter): RawBuilder<SqlBool> {
  switch (filter.kind) {
    case 'sku':
      return sql`sku = ANY(${filter.values}::text[])`
    case 'sku-prefix':
      return sql`sku ^@ ${filter.prefix}`
    case 'contains': {
      // The GIN index of the attributes supports this form.
      const found = sql<SqlBool>`attributes @> ANY(${filter.values}::jsonb[])`
      return filter.negated ? sql`NOT (${found})` : found
    }
    case 'one-of':
      // Both conditions are equivalent. The GIN index supports the second condition. If PostgreSQL checks rows one by one, the
      // first condition extracts the value once and looks it up in a hash table, instead of comparing the attributes with every
      // value.
      return sql`(jsonb_path_query_first(attributes, ${filter.jsonPath}::jsonpath, '{}', true) = ANY(${filter.literals}::jsonb[])
        AND attributes @> ANY(${filter.nested}::jsonb[]))`
    case 'predicate':
      return sql`attributes @@ ${filter.jsonPath}::jsonpath`
    case 'exists':
      // In strict mode, a missing key in the path is an error, and the result is `NULL`.
      return sql`coalesce(attributes @? ${filter.jsonPath}::jsonpath, false) = ${filter.wanted}`
    case 'search':
      return searchCondition(filter.text)
  }
}

/** All words occur in the SKU or in values, the last word as a prefix; or the SKU begins with the text. */
function searchCondition(text: string): RawBuilder<SqlBool> {
  const words = text.split(/\s+/)
  const last = words.pop() ?? ''
  const prefix = `'${last.replaceAll(/['\\]/g, '$&$&')}':*`
  const pattern = `${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  return sql`(
    search @@ (plainto_tsquery('pg_catalog.simple', ${words.join(' ')}) && to_tsquery('pg_catalog.simple', ${prefix}))
    OR lower(sku COLLATE "default") LIKE lower(${pattern}::text COLLATE "default"))`
}

export function orderOf(sort: ProductSort): RawBuilder<unknown> {
  const direction = isDescending(sort) ? sql`DESC` : sql`ASC`
  return sql.join(keysOf(sort).map(({ column }) => sql`${column} ${direction}`))
}

function isDescending(sort: ProductSort): boolean {
  return sort.startsWith('-')
}

/** The live products of a page that match all filters: at most `page.limit`, in the order of the selection. */
export async function listSelectedProducts(
  db: Db,
  selection: ProductSelection,
  page: ProductPage,
  form: AttributesForm,
): Promise<ListedProduct[]> {
  const { rows } = await pageStatement(selection, page, form).execute(db)
  return rows.map(toListed)
}

export interface ProductPlace {
  readonly id: number
  readonly position: Position
}

/** The ids of the products that `listSelectedProducts` would return, so that a long page can read products later. */
export async function listPlaces(db: Db, selection: ProductSelection, page: ProductPage): Promise<ProductPlace[]> {
  const { rows } = await sql<{ id: bigint; position: Position }>`
    SELECT id, ${positionOf(selection)} AS position ${rowsOf(selection, page)}`.execute(db)
  return rows.map(({ id, position }) => ({ id: Number(id), position }))
}

/** The products that are still live, in the order of `ids`. */
export async function listProductsByIds(
  db: Db,
  ids: readonly number[],
  form: AttributesForm,
): Promise<ListedDetails[]> {
  const { rows } = await sql<ProductRow>`
    SELECT ${detailColumns(form)} FROM ${sql.table('products')}
    WHERE id = ANY(${ids}::bigint[]) AND deleted_at IS NULL`.execute(db)
  const byId = new Map(rows.map((row) => [Number(row.id), toListed(row)]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

export async function countProducts(db: Db, filters: readonly ProductFilter[]): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`
    SELECT count(*) FROM ${sql.table('products')} WHERE ${matchingCondition(filters)}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
