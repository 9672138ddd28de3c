import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { violatedConstraint } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import type { InventoryTables } from '../database.ts'
import type { Answer } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { makeOnce } from '../idempotency/once.ts'
import type { NewProduct, Product, ProductDetails, VersionedProduct } from './product.ts'
import { stockJson } from './product-list.ts'

/** Of attributes in a page that the read lane reads. */
const SHORT_PAGE_BYTES = 262_144

const attributesText = sql<string>`attributes::text`.as('attributes')

const findQuery = prepare('find_product', (p: { id: number }, db: Kysely<InventoryTables>) =>
  db
    .selectFrom('products')
    .select(['sku', attributesText, 'version'])
    .where('id', '=', sql<bigint>`${p.id}`)
    .where('deleted_at', 'is', null),
)

const detailsQuery = prepare('find_product_details', (p: { id: number }, db: Kysely<InventoryTables>) =>
  db
    .selectFrom('products')
    .select(['sku', attributesText, 'version', 'created_at', 'updated_at', stockJson.as('stock')])
    .where('id', '=', sql<bigint>`${p.id}`)
    .where('deleted_at', 'is', null),
)

/** Attributes are read only where all of the page together are short: reads of single products follow on the connection. */
const listQuery = prepare('list_products', (p: { afterId: number; limit: number }, db: Kysely<InventoryTables>) =>
  db
    .selectFrom((page) =>
      page
        .selectFrom('products')
        .select(['id', 'sku', 'attributes', 'attributes_length'])
        .where('id', '>', sql<bigint>`${p.afterId}`)
        .where('deleted_at', 'is', null)
        .orderBy('id')
        .limit(sql<number>`${p.limit}`)
        .as('page'),
    )
    .select([
      'id',
      'sku',
      sql<string | null>`
        CASE WHEN sum(attributes_length) OVER () <= ${sql.lit(SHORT_PAGE_BYTES)} THEN attributes::text END`.as(
        'attributes',
      ),
    ])
    .orderBy('id'),
)

const insertQuery = prepare('insert_product', insertStatement)

function insertStatement({ sku, attributes }: NewProduct, db: Kysely<InventoryTables>) {
  return db.insertInto('products').values({ sku, attributes }).returning(['id', 'version'])
}

/** A live product, or undefined. */
export async function findProduct(lanes: Lanes, id: number): Promise<VersionedProduct | undefined> {
  const row = await lanes.read.first(findQuery, { id })
  return row && { id, ...row }
}

/** A live product with all that can be shown of it, or undefined. */
export async function findProductDetails(lanes: Lanes, id: number): Promise<ProductDetails | undefined> {
  const row = await lanes.read.first(detailsQuery, { id })
  if (!row) return undefined
  const { created_at: createdAt, updated_at: updatedAt, ...rest } = row
  return { id, ...rest, createdAt, updatedAt }
}

/** Live products with an id above `afterId`, by id, at most `limit`; undefined when they are too long for the read lane. */
export async function listProductsById(lanes: Lanes, afterId: number, limit: number): Promise<Product[] | undefined> {
  const rows = await lanes.lagging.all(listQuery, { afterId, limit })
  const products: Product[] = []
  for (const { id, sku, attributes } of rows) {
    if (attributes === null) return undefined
    products.push({ id: Number(id), sku, attributes })
  }
  return products
}

/** The id and the version of a product that was added. */
export interface InsertedProduct {
  readonly id: number
  readonly version: number
}

/** Adds a product in one statement; of two with one sku, the unique index alone lets one pass. */
export async function insertProduct(
  lanes: Lanes,
  names: Names,
  product: NewProduct,
): Promise<InsertedProduct | 'duplicate-sku'> {
  return orDuplicate(names, lanes.write.one(insertQuery, product).then(toInserted))
}

/** The same once for a key: a repetition is answered what the first request was. */
export async function insertProductOnce(
  db: Kysely<InventoryTables>,
  names: Names,
  caller: Caller,
  product: NewProduct,
): Promise<Answer<InsertedProduct, never> | 'duplicate-sku'> {
  const insert = async (trx: Kysely<InventoryTables>) =>
    toInserted(await insertStatement(product, trx).executeTakeFirstOrThrow())
  return orDuplicate(names, makeOnce(db, caller, insert))
}

function toInserted({ id, version }: { readonly id: bigint; readonly version: number }): InsertedProduct {
  return { id: Number(id), version }
}

async function orDuplicate<T>(names: Names, inserting: Promise<T>): Promise<T | 'duplicate-sku'> {
  try {
    return await inserting
  } catch (error) {
    if (violatedConstraint(error, names) === 'products_sku_key') return 'duplicate-sku'
    throw error
  }
}
