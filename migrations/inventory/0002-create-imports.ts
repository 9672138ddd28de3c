// The rows read so far by an import that stores all products of a file or none. Rows wait here without a lock until the file has
// ended. If they were stored on arrival in one transaction, products would be locked while the client sends the file. The tables
// are unlogged: the import counts the rows before it applies them, and so notices if a crash has emptied the tables. A crash also
// resets the sequence of an unlogged table. So ids are random: a file that continues after a crash must not add its rows to
// another file with the same number.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createImports: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE UNLOGGED TABLE ${names.id('imports')} (
      id uuid NOT NULL DEFAULT gen_random_uuid(),
      touched_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT ${names.local('imports_pkey')} PRIMARY KEY (id)
    )`.execute(db)
    await sql`CREATE UNLOGGED TABLE ${names.id('import_rows')} (
      import_id uuid NOT NULL,
      place bigint NOT NULL,
      line bigint NOT NULL,
      sku varchar(255) COLLATE "C" NOT NULL,
      attributes jsonb NOT NULL,
      CONSTRAINT ${names.local('import_rows_pkey')} PRIMARY KEY (import_id, place)
    )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('import_rows')}`.execute(db)
    await sql`DROP TABLE ${names.id('imports')}`.execute(db)
  },
})
