// The users whom an admin may list, in the order of creation, with the searched text. Pending sign-ups are absent. The directory
// is separate from `users`, because the searched text seldom changes, while every refresh writes `users`. So PostgreSQL reads the
// order from the index only, and each candidate of a search is a narrow row. A trigger updates the directory for every role that
// writes `users`. It has its owner's rights, because SQL of other roles may insert a user. No other role may create a trigger
// with its function on its own table.
//
// A user without an audience is listed under the empty audience, and a user without a time of creation at the zero time.
//
// A search finds substrings with an inverted index of all runs of three characters. Unlike the trigrams of pg_trgm, they include
// `@`, `.`, digits, spaces and letters of any script in every locale, and they need no extension.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { userDocument } from './user-document.ts'

export const createUserDirectory: MigrationSource = (names) => {
  const key = sql`,
    CONSTRAINT ${names.local('user_directory_user_fkey')} FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE`
  const down = (db: Kysely<unknown>) => dropDirectory(db, names)
  return {
    up: (db: Kysely<unknown>) => createDirectory(db, names, key),
    down,
    // The foreign key would lock users while `auth adopt` lists them, so the switch creates it.
    inPlace: { up: (db: Kysely<unknown>) => createDirectory(db, names, sql``), down },
  }
}

async function createDirectory(db: Kysely<unknown>, names: Names, key: RawBuilder<unknown>): Promise<void> {
  await createTextGrams(db, names)
  await sql`
    CREATE TABLE ${names.id('user_directory')} (
      user_id uuid CONSTRAINT ${names.local('user_directory_pkey')} PRIMARY KEY,
      aud text NOT NULL,
      created_at timestamptz NOT NULL,
      document text COLLATE "C" NOT NULL${key}
    )`.execute(db)
  await createIndexes(db, names)
  await createTrigger(db, names)
}

async function dropDirectory(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP TRIGGER ${names.local('users_directory')} ON ${names.id('users')}`.execute(db)
  await sql`DROP FUNCTION ${names.id('list_user')}()`.execute(db)
  await sql`DROP TABLE ${names.id('user_directory')}`.execute(db)
  await sql`DROP FUNCTION ${names.id('text_grams')}(text)`.execute(db)
}

/**
 * All distinct runs of three characters. PostgreSQL calls it for the index, as the owner of the table, with any search path. So
 * each name includes its schema, because another schema may contain a foreign `array_agg`.
 */
async function createTextGrams(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('text_grams')}(content text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT pg_catalog.array_agg(DISTINCT pg_catalog.substr(content, position, 3))
        FROM pg_catalog.generate_series(1, pg_catalog.length(content) OPERATOR(pg_catalog.-) 2) AS position
    $$`.execute(db)
}

async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE INDEX ${names.local('user_directory_order_idx')}
    ON ${names.id('user_directory')} (aud, created_at, user_id) INCLUDE (document)`.execute(db)
  // Operators list the users of every audience.
  await sql`
    CREATE INDEX ${names.local('user_directory_created_idx')}
    ON ${names.id('user_directory')} (created_at, user_id)`.execute(db)
  // The pending list is short. A pending list makes a sign-up cheaper, but every search scans it, and a sign-up must sometimes
  // merge it into the index.
  await sql`
    CREATE INDEX ${names.local('user_directory_grams_idx')}
    ON ${names.id('user_directory')} USING gin (${names.id('text_grams')}(document) COLLATE "C")
    WITH (fastupdate = on, gin_pending_list_limit = 1024)`.execute(db)
}

async function createTrigger(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('list_user')}() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      INSERT INTO ${names.id('user_directory')} AS d (user_id, aud, created_at, document)
        VALUES (NEW.id, coalesce(NEW.aud, ''), coalesce(NEW.created_at, '0001-01-01 00:00:00+00'), ${userDocument(sql`NEW`)})
        ON CONFLICT (user_id) DO UPDATE
          SET aud = excluded.aud, created_at = excluded.created_at, document = excluded.document
          WHERE (d.aud, d.created_at, d.document) <> (excluded.aud, excluded.created_at, excluded.document);
      RETURN NULL;
    END
    $$`.execute(db)
  await sql`REVOKE EXECUTE ON FUNCTION ${names.id('list_user')}() FROM PUBLIC`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('users_directory')}
    AFTER INSERT OR UPDATE OF aud, email, phone, raw_user_meta_data, staged_at, created_at ON ${names.id('users')}
    FOR EACH ROW WHEN (NEW.staged_at IS NULL) EXECUTE FUNCTION ${names.id('list_user')}()`.execute(db)
}
