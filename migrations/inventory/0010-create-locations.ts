// Locations: where stock is kept, with one to begin with. A deleted location keeps its row, because stock movements point
// at it, and frees its code.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createLocations = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`CREATE TABLE ${names.id('locations')} (
      id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
      code varchar(64) COLLATE "C" NOT NULL,
      name varchar(255) NOT NULL,
      active boolean NOT NULL DEFAULT true,
      created_at timestamptz NOT NULL DEFAULT now(),
      deleted_at timestamptz,
      CONSTRAINT ${names.local('locations_pkey')} PRIMARY KEY (id),
      CONSTRAINT ${names.local('locations_code_check')} CHECK (code ~ '^[A-Za-z0-9._-]+$'),
      CONSTRAINT ${names.local('locations_name_check')} CHECK (name <> '')
    )`.execute(db)
    await sql`CREATE UNIQUE INDEX ${names.local('locations_code_key')} ON ${names.id('locations')} (code)
      WHERE deleted_at IS NULL`.execute(db)
    await sql`INSERT INTO ${names.id('locations')} (code, name) VALUES ('MAIN', 'Main warehouse')`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP TABLE ${names.id('locations')}`.execute(db)
  },
})
