import { createNames } from '@trestle/database/names.ts'
import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { type Kysely, sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { migrateCommand } from './migrate-command.ts'

const { url, drop } = await createEmptyDatabase()
afterAll(drop)

const sources: MigrationSources = {
  '0001-create-things': (names) => ({
    up: async (db: Kysely<unknown>) => {
      await sql`CREATE TABLE ${names.id('things')} (id integer)`.execute(db)
    },
    down: async (db: Kysely<unknown>) => {
      await sql`DROP TABLE ${names.id('things')}`.execute(db)
    },
  }),
}

async function run(...words: string[]): Promise<string[]> {
  const lines: string[] = []
  const options = () => ({ url, names: createNames('things'), sources })
  const command = migrateCommand(options, (line) => lines.push(line)).configureOutput({ writeErr: () => {} })
  for (const each of command.commands) each.configureOutput({ writeErr: () => {} })
  await new Command().addCommand(command).parseAsync(['migrate', ...words], { from: 'user' })
  return lines
}

describe('migrate', () => {
  it('tells what is pending, applies it once, and takes it back', async () => {
    expect(await run('status')).toEqual(['pending 0001-create-things'])
    expect(await run('plan')).toEqual(['-- 0001-create-things', 'CREATE TABLE "things"."things" (id integer);'])
    expect(await run()).toEqual(['applied 0001-create-things'])
    expect(await run('up')).toEqual(['nothing to do'])
    expect(await run('status')).toEqual([expect.stringMatching(/^applied 20\S+Z 0001-create-things$/)])
    expect(await run('down')).toEqual(['taken back 0001-create-things'])
  })

  it.each([['sideways'], ['up', 'now'], ['status', '--all']])(
    'refuses `migrate %s` as wrong usage',
    async (...words) => {
      await expect(run(...words)).rejects.toMatchObject({ code: expect.stringMatching(/^commander\./) })
    },
  )
})
