import { withDatabase } from '@trestle/database/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { type Kysely, sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { migrateCommand } from './migrate-command.ts'

const { url, drop } = await createEmptyDatabase()
afterAll(drop)

const createThings: MigrationSources = {
  '0001-create-things': (names) => ({
    up: async (db: Kysely<unknown>) => {
      await sql`CREATE TABLE ${names.id('things')} (id integer)`.execute(db)
    },
    down: async (db: Kysely<unknown>) => {
      await sql`DROP TABLE ${names.id('things')}`.execute(db)
    },
  }),
}
const indexThings: MigrationSources = {
  '0002-index-things': (names) => ({
    up: async (db: Kysely<unknown>) => {
      await sql`INSERT INTO ${names.id('things')} VALUES (1)`.execute(db)
      await sql`CREATE INDEX ${names.local('things_id_idx')} ON ${names.id('things')} (id)`.execute(db)
    },
  }),
}

async function runOf(sources: MigrationSources, ...words: readonly string[]): Promise<string[]> {
  const lines: string[] = []
  const options = () => ({ url, names: createNames('things'), sources })
  const command = migrateCommand(options, (line) => lines.push(line)).configureOutput({ writeErr: () => {} })
  for (const each of command.commands) each.configureOutput({ writeErr: () => {} })
  const done = new Command().addCommand(command).parseAsync(['migrate', ...words], { from: 'user' })
  await done.catch((error) => {
    // A wrong usage, unlike a failure, is told by its code.
    if ('code' in error) throw error
    lines.push(String(error.message))
  })
  return lines
}
const run = (...words: string[]) => runOf(createThings, ...words)
const runBoth = (...words: string[]) => runOf({ ...createThings, ...indexThings }, ...words)

describe('migrate', () => {
  it('tells what is pending, applies it once, and takes it back', async () => {
    expect(await run('status')).toEqual(['pending 0001-create-things'])
    expect(await run('plan')).toEqual([
      '-- 0001-create-things',
      'CREATE TABLE "things"."things" (id integer);',
      '-- holds nobody up',
    ])
    expect(await run()).toEqual(['applied 0001-create-things'])
    expect(await run('up')).toEqual(['nothing to do'])
    expect(await run('status')).toEqual([expect.stringMatching(/^applied 20\S+Z 0001-create-things$/)])
    expect(await run('plan')).toEqual(['-- nothing to do'])
    expect(await run('down')).toEqual(['taken back 0001-create-things'])
  })

  it('plan: warns of locks that hold others up', async () => {
    await run()
    expect(await runBoth('plan')).toEqual([
      '-- 0002-index-things',
      '-- RowExclusiveLock on things',
      'INSERT INTO "things"."things" VALUES (1);',
      '-- ! ShareLock on things (0 bytes): writes wait until the migration has ended',
      'CREATE INDEX "things_id_idx" ON "things"."things" (id);',
      '-- 1 lock holds others up: see -- !',
    ])
  })

  it('status: names what is of another version', async () => {
    await runBoth()
    expect(await run('status')).toEqual([
      expect.stringMatching(/^applied \S+ 0001-create-things$/),
      expect.stringMatching(/^applied \S+ 0002-index-things \(of another version\)$/),
    ])
  })

  it('drift: fails where the database is not as the migrations made it, and says where', async () => {
    expect(await runBoth('drift')).toEqual([expect.stringMatching(/^\d+ objects are as the migrations made them$/)])
    await withDatabase({ url }, async (db) => {
      await sql`DROP INDEX things.things_id_idx`.execute(db)
      await sql`ALTER TABLE things.things ALTER id TYPE bigint, ADD note text`.execute(db)
    })
    expect(await runBoth('drift')).toEqual([
      'different column things.id',
      '  made  integer',
      '  found bigint',
      'unexpected column things.note: text',
      'missing index things.things_id_idx: CREATE INDEX things_id_idx ON things.things USING btree (id)',
      expect.stringMatching(/^3 of \d+ objects are not as the migrations made them$/),
    ])
  })

  it.each([['sideways'], ['up', 'now'], ['status', '--all']])(
    'refuses `migrate %s` as wrong usage',
    async (...words) => {
      await expect(run(...words)).rejects.toMatchObject({ code: expect.stringMatching(/^commander\./) })
    },
  )
})
