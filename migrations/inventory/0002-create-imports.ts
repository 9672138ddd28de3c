// The rows that an import has read so far, if it stores all products of a file or none. The rows wait here without a lock until
// the file has ended. Stored as they arrive, in one transaction, they would lock products for as long as the client takes to send
// the file. The tables are not logged: the import counts the rows before it applies them, and so notices that a crash has emptied
// the tables. A crash sets the sequence of such a table back, too. So ids are random: a file that arrives on after a crash must
// not add its rows to a file that has got the same number since.
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
