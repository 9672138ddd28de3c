import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type MigrateOptions, migrateUp } from '../migrations/migrate.ts'
import { createNames } from '../names.ts'
import { findDrift } from './drift.ts'

const sources: MigrationSources = {
  '0001-create-notes': (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id('notes')} (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT ${names.local('notes_pkey')} PRIMARY KEY,
        title text COLLATE "C" NOT NULL DEFAULT 'none',
        CONSTRAINT ${names.local('notes_title_check')} CHECK (title <> '')) WITH (fillfactor = 80)`.execute(db)
      await sql`COMMENT ON COLUMN ${names.id('notes')}.title IS 'what it is about'`.execute(db)
      await sql`CREATE INDEX ${names.local('notes_title_idx')} ON ${names.id('notes')} (title)`.execute(db)
      await sql`CREATE TYPE ${names.id('pair')} AS (a int, b text)`.execute(db)
      await sql`CREATE FUNCTION ${names.id('note_count')}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM count(*) FROM ${names.id('notes')};
          RETURN NULL;
        END $$`.execute(db)
      await sql`CREATE TRIGGER ${names.local('notes_counted')} AFTER INSERT ON ${names.id('notes')}
        EXECUTE FUNCTION ${names.id('note_count')}()`.execute(db)
    },
  }),
}

const database = await createEmptyDatabase()
const client = new pg.Client({ connectionString: database.url })
const names = createNames('example', 'app')
const grants = { role: 'drift_service', appendOnly: [] }
const options: MigrateOptions = { url: database.url, names, sources, grants }
const findDifferences = async () => (await findDrift(options)).differences

beforeAll(async () => {
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})
const make = () => migrateUp(options)
const remove = () => client.query('DROP SCHEMA example CASCADE')

describe('findDrift', () => {
  beforeEach(make)
  afterEach(remove)

  it('finds no drift after the migrations, and leaves no schema behind', async () => {
    const schemas = 'SELECT nspname FROM pg_namespace ORDER BY nspname'
    const before = (await client.query(schemas)).rows
    expect(await findDrift(options)).toEqual({ objects: expect.any(Number), differences: [] })
    expect((await client.query(schemas)).rows).toEqual(before)
  })

  it('returns both definitions of a differing object', async () => {
    await client.query('ALTER TABLE example.app_notes ALTER COLUMN title SET DEFAULT 1')
    const made = `text COLLATE "C" NOT NULL 'none'::text`
    expect(await findDifferences()).toEqual([
      { object: 'column app_notes.title', made, found: made.replace("'none'::text", '1') },
    ])
  })

  it('ignores objects of other namespaces in the schema', async () => {
    for (const namespace of ['', 'app_two', 'other']) {
      await migrateUp({
        ...options,
        names: createNames('example', namespace),
        grants: { ...grants, role: 'drift_other' },
      })
    }
    expect(await findDifferences()).toEqual([])
    const { differences } = await findDrift({ ...options, names: createNames('example') })
    expect(differences.filter(({ object }) => object.includes('app_'))).toEqual([])
  })

  it('ignores objects of extensions in the schema', async () => {
    const place = { ...options, names: createNames('example') }
    await migrateUp(place)
    const before = await findDrift(place)
    await client.query(
      `CREATE EXTENSION pgcrypto SCHEMA example; CREATE EXTENSION pg_stat_statements SCHEMA example;
       CREATE EXTENSION earthdistance SCHEMA example CASCADE`,
    )
    expect(await findDrift(place)).toEqual(before)
  })

  it('refuses a database of another release', async () => {
    await client.query("INSERT INTO example.app_trestle_migrations VALUES ('0009-later', '2100-01-01T00:00:00Z')")
    await expect(findDrift(options)).rejects.toThrow('0009-later of another release')
  })
})

/** Changes in groups. The statements of a group change different objects, so one comparison covers all of them. */
const changes: readonly (readonly (readonly [statement: string, objects: readonly string[]])[])[] = [
  [
    ['CREATE TABLE example.app_more (id int)', ['column app_more.id', 'table app_more']],
    ['ALTER TABLE example.app_notes ADD COLUMN more int', ['column app_notes.more']],
    ['ALTER TABLE example.app_notes ALTER COLUMN title DROP NOT NULL', ['column app_notes.title']],
    ['CREATE POLICY app_all ON example.app_notes USING (true)', ['policy app_notes.app_all']],
    [
      'ALTER TABLE example.app_notes DROP CONSTRAINT app_notes_title_check',
      ['constraint app_notes.app_notes_title_check'],
    ],
    ['DROP INDEX example.app_notes_title_idx', ['index example.app_notes_title_idx']],
    ['COMMENT ON COLUMN example.app_notes.title IS NULL', ['comment app_notes.title']],
    ['ALTER TYPE example.app_pair ADD ATTRIBUTE c int', ['column app_pair.c']],
    ['ALTER TABLE example.app_notes DISABLE TRIGGER app_notes_counted', ['trigger app_notes.app_notes_counted']],
    ["ALTER FUNCTION example.app_note_count SET work_mem = '64MB'", ['function app_note_count()']],
    ['ALTER SEQUENCE example.app_notes_id_seq INCREMENT 2', ['sequence app_notes_id_seq']],
    ['GRANT TRUNCATE ON example.app_notes TO drift_service', ['right app_notes to drift_service']],
    ['GRANT SELECT (title) ON example.app_notes TO PUBLIC', ['right app_notes.title to PUBLIC']],
    ['REVOKE EXECUTE ON FUNCTION example.app_note_count FROM PUBLIC', ['right example.app_note_count() to PUBLIC']],
    ['GRANT CREATE ON SCHEMA example TO drift_service', ['right the schema to drift_service']],
    ["CREATE TYPE example.app_mood AS ENUM ('well')", ['type app_mood']],
  ],
  [
    ["ALTER TABLE example.app_notes ALTER COLUMN title SET DEFAULT 'x'", ['column app_notes.title']],
    ['ALTER TABLE example.app_notes ENABLE ROW LEVEL SECURITY', ['table app_notes']],
    ['REVOKE INSERT ON example.app_notes FROM drift_service', ['right app_notes to drift_service']],
  ],
  [
    ['ALTER TABLE example.app_notes ALTER COLUMN title TYPE text COLLATE "POSIX"', ['column app_notes.title']],
    ['ALTER TABLE example.app_notes RESET (fillfactor)', ['table app_notes']],
    ['ALTER TABLE example.app_notes ALTER COLUMN id SET (n_distinct = 10)', ['column app_notes.id']],
  ],
]

describe.each(changes.map((group, place) => ({ group, place })))(
  'findDrift, after changes of group $place',
  ({ group }) => {
    let found: readonly string[]
    beforeAll(async () => {
      await make()
      for (const [statement] of group) await client.query(statement)
      found = (await findDifferences()).map(({ object }) => object)
    })
    afterAll(remove)

    it.each(group)('reports %s as drift', (_statement, objects) => {
      expect(found.filter((object) => objects.includes(object))).toEqual(objects)
    })

    it('reports nothing but these differences', () => {
      expect(found.toSorted()).toEqual(group.flatMap(([, objects]) => objects).toSorted())
    })
  },
)
