// How long the attributes of a product are as text: a page of products is weighed before any of them is read. The column is
// computed when a product is written, so that neither the text nor its parts outside the row are touched for it.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const measureAttributes = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`
      ALTER TABLE ${names.id('products')}
        ADD COLUMN attributes_length integer GENERATED ALWAYS AS (octet_length(attributes::text)) STORED`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`ALTER TABLE ${names.id('products')} DROP COLUMN attributes_length`.execute(db)
  },
})
