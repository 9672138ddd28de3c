// Locations: places that keep stock. One exists from the start. A deleted location keeps its row, because stock movements refer
// to it, but its code becomes free.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createLocations: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE TABLE ${names.id('locations')} (
      id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
      code varchar(64) COLLATE "C" NOT NULL,
      name varchar(255) NOT NULL,
      active boolean NOT NULL DEFAULT true,
      created_at timestamptz NOT NULL DEFAULT now(),
      deleted_at timestamptz,
      version integer NOT NULL DEFAULT 1,
      CONSTRAINT ${names.local('locations_pkey')} PRIMARY KEY (id),
      CONSTRAINT ${names.local('locations_code_check')} CHECK (code ~ '^[A-Za-z0-9._-]+$'),
      CONSTRAINT ${names.local('locations_name_check')} CHECK (name <> '')
    )`.execute(db)
    await sql`CREATE UNIQUE INDEX ${names.local('locations_code_key')} ON ${names.id('locations')} (code)
      WHERE deleted_at IS NULL`.execute(db)
    await countVersions(db, names)
    await sql`INSERT INTO ${names.id('locations')} (code, name) VALUES ('MAIN', 'Main warehouse')`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('locations')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('count_location_version')}()`.execute(db)
  },
})

/** A trigger counts the version, so changes by an operator's SQL count too. An update without a difference keeps the version. */
async function countVersions(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('count_location_version')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.version := OLD.version + 1;
      RETURN NEW;
    END $$`.execute(db)
  // A dump would write one row comparison with other parentheses, and `migrate drift` would report it after a restore.
  await sql`
    CREATE TRIGGER ${names.local('locations_version')} BEFORE UPDATE ON ${names.id('locations')}
    FOR EACH ROW WHEN (OLD.code IS DISTINCT FROM NEW.code OR OLD.name IS DISTINCT FROM NEW.name
      OR OLD.active IS DISTINCT FROM NEW.active)
    EXECUTE FUNCTION ${names.id('count_location_version')}()`.execute(db)
}
