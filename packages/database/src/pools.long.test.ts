import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { type Generated, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from './connect.ts'
import { migrateUp } from './migrations/migrate.ts'
import { createNames } from './names.ts'
import { transactionPools } from './pools.ts'
import { prepare, routeByTenant, type WithTenant } from './prepare.ts'
import { isDatabaseUnavailable, isRefusedStatement } from './unavailable.ts'
import { violatedConstraint } from './violations.ts'

interface Tables {
  readonly notes: { id: Generated<bigint>; title: string; parent_id: bigint | null }
}

const sources: MigrationSources = {
  '0001-create-notes': (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id('notes')} (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT ${names.local('notes_pkey')} PRIMARY KEY,
        title text NOT NULL CONSTRAINT ${names.local('notes_title_key')} UNIQUE,
        parent_id bigint)`.execute(db)
      await sql`CREATE FUNCTION ${names.id('note_count')}() RETURNS bigint LANGUAGE sql AS $$
        SELECT count(*) FROM ${names.id('notes')} $$`.execute(db)
    },
  }),
}

const names = createNames('example', 'app')
const insertNote = prepare<{ title: string; parentId: bigint | null }, { id: bigint }, Tables>('insert_note', (p, db) =>
  db.insertInto('notes').values({ title: p.title, parent_id: p.parentId }).returning('id'),
)
const findNote = prepare<{ title: string }, { id: bigint; title: string; parent: string | null }, Tables>(
  'find_note',
  (p, db) =>
    db
      .with('wanted', (cte) => cte.selectFrom('notes').selectAll().where('title', '=', p.title))
      .selectFrom('wanted')
      .leftJoin('notes as parents', 'parents.id', 'wanted.parent_id')
      .select(['wanted.id', 'wanted.title', 'parents.title as parent']),
)
const statementTimeout = prepare(
  'statement_timeout',
  () => sql<{ limit: string }>`SELECT current_setting('statement_timeout') AS "limit"`,
)
const backendPid = prepare('backend_pid', () => sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`)
const endOwnBackend = prepare('end', () => sql<object>`SELECT pg_terminate_backend(pg_backend_pid())`)
const countNotes = prepare<object, { count: bigint }>(
  'count_notes',
  () => sql<{ count: bigint }>`SELECT * FROM ${sql.table('note_count')}() AS count`,
)

const loseOnce = prepare<{ times: number }, { tries: number }>(
  'lose_once',
  (p) => sql<{ tries: number }>`SELECT example.lose(${p.times}) AS tries`,
)

let empty: TemporaryDatabase
let database: Database<Tables>

beforeEach(async () => {
  empty = await createEmptyDatabase()
  await migrateUp({ url: empty.url, names, sources })
  database = openDatabase<Tables>({
    url: empty.url,
    names,
    applicationName: 'test',
    poolSize: 4,
    role: undefined,
    statementTimeoutMs: 5_000,
    writeTimeoutMs: 9_000,
    lockTimeoutMs: 2_000,
    prepared,
    onConnectionError: () => {},
  })
})

afterEach(async () => {
  await database.close()
  await empty.drop()
})

describe('pools', () => {
  // ASVS 1.2.4
  it('runs prepared queries by name on both pools, with the schema and the prefix', async () => {
    const root = await database.pools.write.one(insertNote, { title: 'root', parentId: null })
    await database.pools.write.one(insertNote, { title: 'leaf', parentId: root.id })
    const found = await Promise.all(
      ['leaf', 'root', 'none'].map((title) => database.pools.read.first(findNote, { title })),
    )
    expect(found).toEqual([
      { id: expect.any(BigInt), title: 'leaf', parent: 'root' },
      { id: root.id, title: 'root', parent: null },
      undefined,
    ])
    expect(await database.pools.read.one(countNotes, {})).toEqual({ count: 2n })
  })

  it('runs the form of a query that the input chooses', async () => {
    const few = prepare(
      'title_of_few',
      (p: { size: number }) => sql<{ text: string }>`SELECT 'few ' || ${p.size}::int AS text`,
    )
    const many = prepare(
      'title_of_many',
      (p: { size: number }) => sql<{ text: string }>`SELECT 'many ' || ${p.size}::int AS text`,
    )
    const query = { ...many, variantFor: ({ size }: { size: number }) => (size < 3 ? few : undefined) }
    const { read, write } = database.pools
    const rows = await Promise.all([
      read.one(query, { size: 2 }),
      read.one(query, { size: 3 }),
      write.one(query, { size: 1 }),
    ])
    expect(rows.map(({ text }) => text)).toEqual(['few 2', 'many 3', 'few 1'])
  })

  it('closes its connections, even if only the write pool has used the pool', async () => {
    const used = openDatabase<Tables>({
      url: empty.url,
      names,
      applicationName: 'test',
      poolSize: 1,
      role: undefined,
      statementTimeoutMs: 5_000,
      lockTimeoutMs: 2_000,
      prepared,
      onConnectionError: () => {},
    })
    await used.pools.write.one(statementTimeout, {})
    expect(used.connections()).toEqual({ idle: 1, used: 0, waiting: 0 })
    await used.close()
    expect(used.connections()).toEqual({ idle: 0, used: 0, waiting: 0 })
  })

  it('ends a statement at the time limit of its pool', async () => {
    const { read, write } = database.pools
    const limits = [await read.one(statementTimeout, {}), await write.one(statementTimeout, {})]
    expect(limits).toEqual([{ limit: '5s' }, { limit: '9s' }])
  })

  it('reports a violated constraint by its name in the migration', async () => {
    const insert = () => database.pools.write.one(insertNote, { title: 'root', parentId: null })
    await insert()
    const error = await insert().catch((e) => e)
    expect(violatedConstraint(error, names)).toBe('notes_title_key')
    expect(isDatabaseUnavailable(error)).toBe(false)
  })

  it('keeps a connection after a refused statement, and drops a lost one', async () => {
    const pid = () => database.pools.write.one(backendPid, {})
    const insert = () => database.pools.write.one(insertNote, { title: 'root', parentId: null })
    await insert()
    const before = await pid()
    await expect(insert()).rejects.toThrow('duplicate')
    expect(await pid()).toEqual(before)
    const ended = database.pools.write.one(endOwnBackend, {}).catch((error: unknown) => isDatabaseUnavailable(error))
    expect(await ended).toBe(true)
    expect(await pid()).not.toEqual(before)
  })

  it('repeats a statement that lost a conflict, five times', async () => {
    await sql`CREATE SEQUENCE example.tries`.execute(database.db)
    await sql`CREATE FUNCTION example.lose(times int) RETURNS int LANGUAGE plpgsql AS $$
      DECLARE tries int := nextval('example.tries');
      BEGIN
        IF tries <= times THEN RAISE EXCEPTION 'lost' USING ERRCODE = 'deadlock_detected'; END IF;
        PERFORM setval('example.tries', 1, false);
        RETURN tries;
      END $$`.execute(database.db)
    expect(await database.pools.write.one(loseOnce, { times: 5 })).toEqual({ tries: 6 })
    const lost = database.pools.write.one(loseOnce, { times: 9 })
    await expect(lost).rejects.toHaveProperty('code', '40P01')
    expect(await lost.catch(isDatabaseUnavailable)).toBe(true)
    expect(await lost.catch(isRefusedStatement)).toBe(false)
  })

  it.each(['read', 'write'] as const)(
    'repeats a %s five times when Citus no longer knows the part with its rows',
    async (pool) => {
      await sql`CREATE SEQUENCE example.tries`.execute(database.db)
      await sql`CREATE FUNCTION example.lose(times int) RETURNS int LANGUAGE plpgsql AS $$
      DECLARE tries int := nextval('example.tries');
      BEGIN
        IF tries > times THEN PERFORM setval('example.tries', 1, false); RETURN tries; END IF;
        RAISE EXCEPTION 'could not find valid entry for shard 102044' USING ERRCODE = 'internal_error';
      END $$`.execute(database.db)
      expect(await database.pools[pool].one(loseOnce, { times: 5 })).toEqual({ tries: 6 })
      const lost = database.pools[pool].one(loseOnce, { times: 9 })
      await expect(lost).rejects.toThrow('could not find valid entry for shard 102044')
      expect(await lost.catch(isDatabaseUnavailable)).toBe(true)
      expect(await lost.catch(isRefusedStatement)).toBe(false)
    },
  )

  it('refuses writes while rows move, reads with new connections, and writes with new ones afterwards', async () => {
    const { pools } = database
    const pids = () => Promise.all([pools.read.one(backendPid, {}), pools.write.one(backendPid, {})])
    const [reader, writer] = await pids()
    database.switchMode({ findTenant: async () => '', isRebalancing: true })
    const refused = await pools.write.one(insertNote, { title: 'one', parentId: null }).catch((error) => error)
    expect([isDatabaseUnavailable(refused), isRefusedStatement(refused)]).toEqual([true, false])
    await expect(database.db.selectFrom('notes').select('id').execute()).rejects.toThrow('rows are moving')
    expect(await pools.read.first(findNote, { title: 'one' })).toBeUndefined()
    await sql`DROP FUNCTION example.app_note_count()`.execute(database.checks)
    const missed = await pools.read.one(countNotes, {}).catch((error) => error)
    expect(isDatabaseUnavailable(missed)).toBe(true)
    database.switchMode({ findTenant: undefined, isRebalancing: false })
    const [newReader, newWriter] = await pids()
    if (prepared) expect([newReader.pid === reader.pid, newWriter.pid === writer.pid]).toEqual([false, false])
    await expect(pools.read.one(countNotes, {})).rejects.toHaveProperty('code', '42883')
  })

  it('fails only the transaction whose connection is lost', async () => {
    const uncaught: unknown[] = []
    const remember = (error: unknown) => void uncaught.push(error)
    process.on('uncaughtException', remember)
    const lost = database.db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(trx)
      await sql`SELECT pg_terminate_backend(${rows[0]?.pid}, 5000)`.execute(database.db)
      await sql`SELECT 1`.execute(trx)
    })
    expect(await lost.catch(isDatabaseUnavailable)).toBe(true)
    process.off('uncaughtException', remember)
    expect(uncaught).toEqual([])
  })

  it('reconnects after the server has closed every connection, and reports the loss as an outage', async () => {
    const others = sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`
    await others.execute(database.db)
    const errors: unknown[] = []
    await expect
      .poll(
        () =>
          database.pools.read.one(countNotes, {}).catch((error) => {
            errors.push(error)
            return undefined
          }),
        { interval: 20 },
      )
      .toEqual({ count: 0n })
    expect(errors.every(isDatabaseUnavailable)).toBe(true)
  })
})

describe('transactionPools', () => {
  it('what the pools write is seen by them alone until the transaction ends', async () => {
    const note = { title: 'kept', parentId: null }
    const found = { id: expect.any(BigInt), title: 'kept', parent: null }
    await database.db.transaction().execute(async (trx) => {
      const { read, write, lagging } = transactionPools(trx)
      expect(await write.one(insertNote, note)).toEqual({ id: expect.any(BigInt) })
      expect(await read.first(findNote, note)).toEqual(found)
      expect(await lagging.all(findNote, note)).toEqual([found])
      expect(await database.pools.read.first(findNote, note)).toBeUndefined()
    })
    expect(await database.pools.read.first(findNote, note)).toEqual(found)
  })

  it('what the pools wrote is gone after a failure', async () => {
    const note = { title: 'lost', parentId: null }
    const failing = database.db.transaction().execute(async (trx) => {
      const { write } = transactionPools(trx)
      await write.one(insertNote, note)
      await write.one(insertNote, note)
    })
    await expect(failing).rejects.toThrow('duplicate key value')
    expect(await database.pools.read.first(findNote, note)).toBeUndefined()
  })

  it('queries use the tenant that the caller names, and look up no tenant', async () => {
    const whose = routeByTenant(
      prepare(
        'whose_note',
        (p: WithTenant<{ id: string }>) => sql<{ whose: string }>`SELECT ${p.tenant}::text AS whose`,
      ),
      () => Promise.reject(new Error('a tenant was looked for')),
      (p) => sql`SELECT 'of ' || ${p.tenant}::text AS whose`,
    )
    const rows = await database.db
      .transaction()
      .execute(async (trx) => [
        await transactionPools(trx).read.one(whose, { id: 'a' }),
        await transactionPools(trx, 'ann').read.one(whose, { id: 'a' }),
      ])
    expect(rows).toEqual([{ whose: null }, { whose: 'of ann' }])
  })

  it('a query for one row throws when it returns none', async () => {
    const reading = database.db
      .transaction()
      .execute((trx) => transactionPools(trx).read.one(findNote, { title: 'none' }))
    await expect(reading).rejects.toThrow('find_note returned no row')
  })
})
