// Products: the goods that the API sells. A deleted product keeps its row, because stock movements refer to it, but its SKU
// becomes free. Therefore every index except the primary key covers only live rows. The SKU has the collation "C": it is compared
// by code point, and its unique index also serves prefixes and the order by SKU.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createProducts: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE SEQUENCE ${names.id('product_revision_seq')} AS bigint`.execute(db)
    await createTable(db, names)
    await sql`ALTER SEQUENCE ${names.id('product_revision_seq')} OWNED BY ${names.id('products')}.revision`.execute(db)
    await createIndexes(db, names)
    // PostgreSQL does not use statistics of a partial index to estimate how many SKUs begin with a text. Without these statistics
    // it expects one product in 200 for any text. With a million products it would then scan the list in order, instead of using
    // the index of words.
    await sql`CREATE STATISTICS ${names.id('products_lower_sku_stats')}
      ON (lower(sku COLLATE "default")) FROM ${names.id('products')}`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('products')}`.execute(db)
  },
})

/**
 * The maximum id is the largest integer that a JSON number represents exactly. `revision` orders all changes to all products. A
 * list uses `attributes_length` to estimate the size of a page before it reads the attributes. The column is computed on write,
 * so the list reads neither the text nor its out-of-line storage.
 */
async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`CREATE TABLE ${names.id('products')} (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    sku varchar(255) COLLATE "C" NOT NULL,
    attributes jsonb NOT NULL,
    version integer NOT NULL DEFAULT 1,
    revision bigint NOT NULL DEFAULT nextval('${names.id('product_revision_seq')}'),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    search tsvector GENERATED ALWAYS AS (
      to_tsvector('pg_catalog.simple', sku)
      || jsonb_to_tsvector('pg_catalog.simple', attributes, '["string", "numeric", "boolean"]')) STORED,
    attributes_length integer GENERATED ALWAYS AS (octet_length(attributes::text)) STORED,
    CONSTRAINT ${names.local('products_pkey')} PRIMARY KEY (id),
    CONSTRAINT ${names.local('products_sku_check')} CHECK (sku <> ''),
    CONSTRAINT ${names.local('products_attributes_check')} CHECK (attributes <> 'null'),
    CONSTRAINT ${names.local('products_version_check')} CHECK (version > 0)
  )`.execute(db)
}

async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const indexes = [
    sql`UNIQUE INDEX ${names.local('products_sku_key')} ON ${names.id('products')} (sku)`,
    sql`INDEX ${names.local('products_lower_sku_idx')} ON ${names.id('products')}
      (lower(sku COLLATE "default") text_pattern_ops)`,
    sql`INDEX ${names.local('products_attributes_idx')} ON ${names.id('products')} USING gin (attributes jsonb_path_ops)`,
    sql`INDEX ${names.local('products_search_idx')} ON ${names.id('products')} USING gin (search)`,
    sql`INDEX ${names.local('products_created_at_idx')} ON ${names.id('products')} (created_at, id)`,
    sql`INDEX ${names.local('products_updated_at_idx')} ON ${names.id('products')} (updated_at, id)`,
  ]
  for (const index of indexes) await sql`CREATE ${index} WHERE deleted_at IS NULL`.execute(db)
}
