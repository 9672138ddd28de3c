// Of the beginning of a sku the planner knew nothing, and took it for one product of two hundred: among a million it walked the
// list instead of the index of words. PostgreSQL does not use what it knows of an index that is partial.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const sampleLowerSkus = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`CREATE STATISTICS ${names.id('products_lower_sku_stats')}
      ON (lower(sku COLLATE "default")) FROM ${names.id('products')}`.execute(db)
    await sql`ANALYZE ${names.id('products')}`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP STATISTICS ${names.id('products_lower_sku_stats')}`.execute(db)
  },
})
