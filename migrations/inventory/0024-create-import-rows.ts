// What an import of all or nothing has read so far. It was stored as it came, in one transaction that locked products for as
// long as the client took to send the file. Here it waits without a lock until the file has ended. The tables are not logged:
// whoever applies the rows counts them first, so that rows which a crash has taken are noticed.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createImportRows = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`CREATE UNLOGGED TABLE ${names.id('imports')} (
      id bigint GENERATED ALWAYS AS IDENTITY,
      touched_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT ${names.local('imports_pkey')} PRIMARY KEY (id)
    )`.execute(db)
    await sql`CREATE UNLOGGED TABLE ${names.id('import_rows')} (
      import_id bigint NOT NULL,
      place bigint NOT NULL,
      line bigint NOT NULL,
      sku varchar(255) COLLATE "C" NOT NULL,
      attributes jsonb NOT NULL,
      CONSTRAINT ${names.local('import_rows_pkey')} PRIMARY KEY (import_id, place)
    )`.execute(db)
    // A change of a product may meet an import that is being applied, and is worth waiting for some seconds.
    await setLockTimeout(db, names, sql`SET lock_timeout = '8s'`)
  },
  down: async (db: Kysely<unknown>) => {
    await setLockTimeout(db, names, sql`RESET lock_timeout`)
    await sql`DROP TABLE ${names.id('import_rows')}`.execute(db)
    await sql`DROP TABLE ${names.id('imports')}`.execute(db)
  },
})

async function setLockTimeout(db: Kysely<unknown>, names: Names, setting: ReturnType<typeof sql>): Promise<void> {
  await sql`ALTER FUNCTION ${names.id('change_product')}(bigint, integer[], text, jsonb, boolean, integer) ${setting}`.execute(
    db,
  )
  await sql`ALTER FUNCTION ${names.id('delete_product')}(bigint, integer[]) ${setting}`.execute(db)
}
