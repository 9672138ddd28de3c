import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { migrateOptions } from '../migrations.ts'

const OWNER = 'existing_schema_owner'
const READER = 'existing_schema_reader'
const PASSWORD = 'existing_schema'

/** Tables of the first versions of supabase/auth, with only the columns that the tests need. */
const TABLES = `
  CREATE TABLE auth.users (instance_id uuid, id uuid PRIMARY KEY, email varchar(255) UNIQUE, confirmed_at timestamptz);
  CREATE TABLE auth.refresh_tokens (id bigserial PRIMARY KEY, token varchar(255), user_id varchar(255));
  CREATE TABLE auth.instances (id uuid PRIMARY KEY);
  CREATE TABLE auth.audit_log_entries (id uuid PRIMARY KEY, payload json);
  CREATE TABLE auth.schema_migrations (version varchar(255) PRIMARY KEY);
  INSERT INTO auth.schema_migrations VALUES ('20171026211738'), ('20180125194653');`

const admin = await createEmptyDatabase()
beforeAll(async () => {
  for (const role of [OWNER, READER])
    await run(admin.url, `DROP ROLE IF EXISTS ${role}; CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`)
})
afterAll(async () => {
  await run(admin.url, `DROP ROLE ${OWNER}, ${READER}`)
  await admin.drop()
})

async function run(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const result: pg.QueryResult<Record<string, unknown>> = await client.query(text).finally(() => client.end())
  return result.rows
}

async function openDatabase(set: string): Promise<TemporaryDatabase> {
  const database = await createEmptyDatabase()
  // The roles can be dropped when no database contains objects of them.
  onTestFinished(() => database.drop())
  await run(database.directUrl, set)
  return database
}

function migrate(url: string, namespace = '') {
  const database = { url, migrationUrl: url, role: undefined, schema: 'auth', namespace }
  return migrateUp(migrateOptions({ database }))
}

/** The URL of a database for the owner of the tables, who is not a superuser. */
function urlOfOwner({ directUrl }: TemporaryDatabase): string {
  return Object.assign(new URL(directUrl), { username: OWNER, password: PASSWORD }).href
}

const listTables = (url: string) =>
  run(
    url,
    `SELECT relname AS name, pg_get_userbyid(relowner) AS owner, has_table_privilege('${READER}', oid, 'SELECT') AS "isRead"
    FROM pg_class WHERE relnamespace = 'auth'::regnamespace AND relkind = 'r' ORDER BY relname`,
  )

/** The tables that supabase/auth and this service both have, sorted by name. */
const SHARED = ['identities', 'mfa_amr_claims', 'mfa_factors', 'sessions', 'users']

const AS_AT_BIRTH = `
  CREATE SCHEMA auth; ${TABLES}
  CREATE FUNCTION auth.own() RETURNS int LANGUAGE sql AS 'SELECT 7';
  GRANT ALL ON SCHEMA auth TO ${OWNER};
  GRANT USAGE ON SCHEMA auth TO ${READER};
  GRANT SELECT ON auth.users, auth.instances TO ${READER};
  DO $$ DECLARE name text; BEGIN
    EXECUTE format('GRANT CREATE ON DATABASE %I TO ${OWNER}', current_database());
    FOREACH name IN ARRAY ARRAY['users', 'refresh_tokens', 'instances', 'audit_log_entries', 'schema_migrations'] LOOP
      EXECUTE format('ALTER TABLE auth.%I OWNER TO ${OWNER}', name);
    END LOOP;
  END $$;`

describe('the first migration', () => {
  it('replaces the unused tables of the image of Supabase, and keeps owners, rights and functions', async () => {
    const database = await openDatabase(AS_AT_BIRTH)
    const [superuser, owner] = [database.directUrl, urlOfOwner(database)]
    expect((await migrate(owner)).migrations).not.toEqual([])
    const tables = await listTables(superuser)
    expect(tables).toContainEqual({ name: 'refresh_tokens', owner: OWNER, isRead: false })
    // A program that inserts users, such as a seed file, also inserts identities.
    expect(tables.filter(({ isRead }) => isRead)).toEqual(SHARED.map((name) => ({ name, owner: OWNER, isRead: true })))
    expect(tables.map(({ name }) => name)).not.toContain('instances')
    expect(tables.map(({ name }) => name)).not.toContain('schema_migrations')
    expect(await run(owner, 'SELECT auth.own() AS own')).toEqual([{ own: 7 }])
    expect(await migrate(owner)).toEqual({ migrations: [], functions: [], keptRelease: undefined })
  })

  it('gives replaced tables back to their owner when another user migrates', async () => {
    const database = await openDatabase(AS_AT_BIRTH)
    await migrate(database.directUrl)
    const ofOwner = (await listTables(database.directUrl)).filter(({ owner }) => owner === OWNER)
    expect(ofOwner.map(({ name }) => name)).toEqual([...SHARED, 'audit_log_entries', 'refresh_tokens'].sort())
  })

  it.each([
    ['a newer migration', "INSERT INTO auth.schema_migrations VALUES ('20250717082212')", '20250717082212'],
    ['a user', 'INSERT INTO auth.users (id) VALUES (gen_random_uuid())', '20180125194653'],
    ['a table of later versions', 'CREATE TABLE auth.identities (id text)', '20180125194653'],
    ['no migration', 'TRUNCATE auth.schema_migrations; CREATE TABLE auth.more (id text)', 'none'],
  ])(
    'leaves a schema of supabase/auth as it is, with %s, and says what to do about it',
    async (_case, set, version) => {
      const database = await openDatabase(AS_AT_BIRTH + set)
      const before = await listTables(database.directUrl)
      await expect(migrate(urlOfOwner(database))).rejects.toThrow(
        new Error(
          `the schema auth belongs to supabase/auth (migration ${version}): run auth adopt --check, which says what carries over, or name another schema by AUTH_DB_SCHEMA`,
        ),
      )
      expect(await listTables(database.directUrl)).toEqual(before)
    },
  )

  it('changes nothing without the right to create the schema of the queue, and names the statement that gives it', async () => {
    const database = await openDatabase(AS_AT_BIRTH)
    const name = new URL(database.directUrl).pathname.slice(1)
    const grant = `GRANT CREATE ON DATABASE ${name} TO ${OWNER}`
    await run(database.directUrl, `REVOKE CREATE ON DATABASE ${name} FROM ${OWNER}`)
    const before = await listTables(database.directUrl)
    await expect(migrate(urlOfOwner(database))).rejects.toThrow(
      new Error(`the schema auth_jobs cannot be created: as a superuser (supabase_admin), run ${grant}`),
    )
    expect(await listTables(database.directUrl)).toEqual(before)
    await run(database.directUrl, grant)
    expect((await migrate(urlOfOwner(database))).migrations).not.toEqual([])
  })

  it('refuses a schema with tables of others, unless a prefix keeps them apart', async () => {
    const own = 'abcdefg'.split('').map((name) => `CREATE TABLE auth.${name} (id int);`)
    const database = await openDatabase(`CREATE SCHEMA auth; ${own.join('')}`)
    await expect(migrate(database.directUrl)).rejects.toThrow(
      new Error(
        'the schema auth has tables of others (a, b, c, d, e and 2 more): name another schema by AUTH_DB_SCHEMA',
      ),
    )
    await migrate(database.directUrl, 'app')
    await run(database.directUrl, 'DROP TABLE auth.a, auth.b, auth.c, auth.d, auth.e, auth.f, auth.g')
    expect((await migrate(database.directUrl)).migrations).not.toEqual([])
  })
})
