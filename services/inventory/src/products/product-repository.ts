import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { violatedConstraint } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Answer, Caller } from '../idempotency/idempotent-request.ts'
import { runOnce } from '../idempotency/key-repository.ts'
import type { NewProduct, Product, ProductDetails, VersionedProduct } from './product.ts'
import { stockJson } from './product-list-repository.ts'

/** The maximum size of a page on the read pool, in bytes of attributes, because other reads wait for it. */
const SHORT_PAGE_BYTES = 262_144

const attributesText = sql<string>`attributes::text`.as('attributes')

const findQuery = prepare('find_product', (p: { id: number }, db: Db) =>
  db
    .selectFrom('products')
    .select(['sku', attributesText, 'version'])
    .where('id', '=', sql<bigint>`${p.id}`)
    .where('deleted_at', 'is', null),
)

const detailsQuery = prepare('find_product_details', (p: { id: number }, db: Db) =>
  db
    .selectFrom('products')
    .select(['sku', attributesText, 'version', 'created_at', 'updated_at', stockJson.as('stock')])
    .where('id', '=', sql<bigint>`${p.id}`)
    .where('deleted_at', 'is', null),
)

/** The attributes of all rows are `NULL` if their total is too long. */
const listQuery = prepare('list_products', (p: { afterId: number; limit: number }, db: Db) =>
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

function insertStatement({ sku, attributes }: NewProduct, db: Db) {
  return db.insertInto('products').values({ sku, attributes }).returning(['id', 'version'])
}

/** Returns `undefined` if the product does not exist or was deleted. */
export async function findProduct(pools: Pools, id: number): Promise<VersionedProduct | undefined> {
  const row = await pools.read.first(findQuery, { id })
  return row && { id, ...row }
}

/** @throws Error if the product does not exist */
export async function getProductId(db: Db, sku: string): Promise<number> {
  const row = await db
    .selectFrom('products')
    .select('id')
    .where('sku', '=', sku)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!row) throw new Error(`there is no product ${sku}`)
  return Number(row.id)
}

/** A live product with the members of `include`, or `undefined`. */
export async function findProductDetails(pools: Pools, id: number): Promise<ProductDetails | undefined> {
  const row = await pools.read.first(detailsQuery, { id })
  if (!row) return undefined
  const { created_at: createdAt, updated_at: updatedAt, ...rest } = row
  return { id, ...rest, createdAt, updatedAt }
}

/** Live products with an id above `afterId`, by id, at most `limit`. `undefined` if they are too long for the read pool. */
export async function listProductsById(pools: Pools, afterId: number, limit: number): Promise<Product[] | undefined> {
  const rows = await pools.lagging.all(listQuery, { afterId, limit })
  const products: Product[] = []
  for (const { id, sku, attributes } of rows) {
    if (attributes === null) return undefined
    products.push({ id: Number(id), sku, attributes })
  }
  return products
}

export interface InsertedProduct {
  readonly id: number
  readonly version: number
}

/** Adds a product in one statement. Only the unique index determines whether its SKU is taken. */
export async function insertProduct(
  pools: Pools,
  names: Names,
  product: NewProduct,
): Promise<InsertedProduct | 'duplicate-sku'> {
  return catchDuplicate(names, pools.write.one(insertQuery, product).then(toInserted))
}

/** Adds a product once for an Idempotency-Key. @throws a database error if the write has lost too many conflicts */
export async function insertProductOnce(
  db: Db,
  names: Names,
  caller: Caller,
  product: NewProduct,
): Promise<Answer<InsertedProduct, never> | 'duplicate-sku'> {
  const insert = async (connection: Db) =>
    toInserted(await insertStatement(product, connection).executeTakeFirstOrThrow())
  return catchDuplicate(names, runOnce(db, caller, insert))
}

/**
 * Adds the missing sample products from `first` to `last`. Resolves to the number of added products. The number of a sample
 * product determines its SKU and attributes.
 */
export async function insertSampleProducts(db: Db, first: number, last: number): Promise<bigint> {
  const { numAffectedRows = 0n } = await sql`
    INSERT INTO ${sql.table('products')} (sku, attributes)
    SELECT 'SAMPLE-' || lpad(n::text, 8, '0'), jsonb_build_object(
      'name', 'Sample product ' || n,
      'color', (ARRAY['red', 'green', 'blue', 'black', 'white'])[1 + n % 5],
      'size', n % 1000,
      'price', to_jsonb(round(n % 10007 / 100.0, 2)),
      'tags', jsonb_build_array('sample', 'batch-' || n / 1000))
    FROM generate_series(${first}::integer, ${last}::integer) AS n
    ON CONFLICT (sku) WHERE deleted_at IS NULL DO NOTHING`.execute(db)
  return numAffectedRows
}

function toInserted({ id, version }: { readonly id: bigint; readonly version: number }): InsertedProduct {
  return { id: Number(id), version }
}

async function catchDuplicate<T>(names: Names, inserting: Promise<T>): Promise<T | 'duplicate-sku'> {
  try {
    return await inserting
  } catch (error) {
    if (violatedConstraint(error, names) === 'products_sku_key') return 'duplicate-sku'
    throw error
  }
}

/** A change of a product. Members that are `undefined` stay unchanged. */
export interface ProductChange {
  readonly id: number
  /** The expected versions. `undefined` accepts any version. */
  readonly versions: readonly number[] | undefined
  readonly sku?: string | undefined
  readonly attributes: string | undefined
  /** Whether `attributes` replace the stored attributes or are a merge patch for them. */
  readonly mode: 'replace' | 'merge'
  /** The maximum size of the merged attributes, in bytes. */
  readonly bytesMax: number
}

/** A product after a change. `changed` says whether the change had an effect. */
export interface VersionedChange extends VersionedProduct {
  readonly changed: boolean
}

export type ChangeProductResult =
  | { readonly verdict: 'done'; readonly change: VersionedChange }
  | { readonly verdict: ChangeRefusal | 'duplicate-sku' }

type ChangeRefusal =
  | 'not-found'
  | 'stale'
  | 'attributes-null'
  | 'attributes-bytes'
  | 'attributes-depth'
  | 'attributes-keys'

type ChangedProductRow =
  | { readonly verdict: ChangeRefusal }
  | {
      readonly verdict: 'done'
      readonly changed: boolean
      readonly new_sku: string
      readonly new_attributes: string
      readonly new_version: number
    }

const changeQuery = prepare(
  'change_product',
  (p: ProductChange) => sql<ChangedProductRow>`
  SELECT * FROM ${sql.table('change_product')}(${p.id}::bigint, ${p.versions}::integer[], ${p.sku}, ${p.attributes}::jsonb,
    ${p.mode} = 'merge', ${p.bytesMax}::integer)`,
)

const deleteQuery = prepare(
  'delete_product',
  (p: { id: number; versions: readonly number[] | undefined }) => sql<{ verdict: DeleteProductVerdict }>`
  SELECT * FROM ${sql.table('delete_product')}(${p.id}::bigint, ${p.versions}::integer[])`,
)

/** Compares the version while the row is locked. */
export async function callChangeProduct(
  pools: Pools,
  names: Names,
  change: ProductChange,
): Promise<ChangeProductResult> {
  try {
    const row = await pools.write.one(changeQuery, change)
    if (row.verdict !== 'done') return row
    const { changed, new_sku: sku, new_attributes: attributes, new_version: version } = row
    return { verdict: 'done', change: { id: change.id, sku, attributes, version, changed } }
  } catch (error) {
    if (violatedConstraint(error, names) === 'products_sku_key') return { verdict: 'duplicate-sku' }
    throw error
  }
}

/** `stale`: the version differs from the expected versions. `in-stock`: the product still has stock on hand. */
export type DeleteProductVerdict = 'done' | 'not-found' | 'stale' | 'in-stock'

/** Marks a live product as deleted, unless it has stock. */
export async function callDeleteProduct(
  pools: Pools,
  names: Names,
  product: { readonly id: number; readonly versions: readonly number[] | undefined },
): Promise<DeleteProductVerdict> {
  try {
    return (await pools.write.one(deleteQuery, product)).verdict
  } catch (error) {
    if (violatedConstraint(error, names) === 'products_stock_check') return 'in-stock'
    throw error
  }
}
