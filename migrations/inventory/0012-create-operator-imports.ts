// Imports started by operators, with their files. A file is stored here in pieces until its import has ended, so that another
// process can continue if one dies. `report` counts stored products. It is written in the transactions that store them.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createOperatorImports: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE TABLE ${names.id('operator_imports')} (
      id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      ended_at timestamptz,
      state text NOT NULL DEFAULT 'arriving',
      format text NOT NULL,
      mode text NOT NULL,
      storing text NOT NULL,
      total bigint,
      processed bigint NOT NULL DEFAULT 0,
      attempt_id uuid,
      report json,
      error json,
      actor_id uuid NOT NULL,
      actor_email text NOT NULL,
      key_name text NOT NULL,
      role text NOT NULL,
      address text NOT NULL,
      idempotency_key text,
      CONSTRAINT ${names.local('operator_imports_pkey')} PRIMARY KEY (id),
      CONSTRAINT ${names.local('operator_imports_state_check')}
        CHECK (state IN ('arriving', 'waiting', 'running', 'done', 'failed')),
      CONSTRAINT ${names.local('operator_imports_ended_check')} CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'failed')))
    )`.execute(db)
    await sql`CREATE TABLE ${names.id('import_pieces')} (
      import_id bigint NOT NULL,
      place integer NOT NULL,
      bytes bytea NOT NULL,
      CONSTRAINT ${names.local('import_pieces_pkey')} PRIMARY KEY (import_id, place),
      CONSTRAINT ${names.local('import_pieces_import_id_fkey')}
        FOREIGN KEY (import_id) REFERENCES ${names.id('operator_imports')} (id) ON DELETE CASCADE
    )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('import_pieces')}`.execute(db)
    await sql`DROP TABLE ${names.id('operator_imports')}`.execute(db)
  },
})
