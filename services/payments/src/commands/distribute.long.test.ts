import { distributeDatabase, planDistribution } from '@trestle/citus/distribute.ts'
import { type DistributionState, stateStatements } from '@trestle/citus/notes.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadPaymentsConfig, type PaymentsConfig } from '../config.ts'
import { migrateToLatest } from '../migrations.ts'
import { distributeCommand, distributeOptions } from './distribute.ts'

let database: TemporaryDatabase
let config: PaymentsConfig
beforeAll(async () => {
  database = await createEmptyDatabase()
  const env = { PAYMENTS_DATABASE_URL: database.url, PAYMENTS_BASE_URL: 'http://localhost', PAYMENTS_DEV: 'true' }
  config = loadPaymentsConfig(env)
  await migrateToLatest(config)
})
afterAll(() => database.drop())

/** @returns the printed lines, followed by the error message if the command fails */
async function run(...words: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = []
  const print = (line: string) => lines.push(line)
  const open = () => Promise.reject(new Error('no operator is needed'))
  const program = new Command().exitOverride()
  program.addCommand(distributeCommand({ open, print }, () => config).configureOutput({ writeErr: () => {} }))
  try {
    await program.parseAsync(['distribute', ...words], { from: 'user' })
  } catch (error) {
    lines.push(error instanceof Error ? error.message : String(error))
  }
  return lines
}

describe('payments distribute, without the extension', () => {
  it('refuses to check without the extension', async () => {
    const text = 'extension: the database has no extension citus'
    expect(await run('--check')).toEqual([`wrong ${text}`, text])
  })

  it('refuses to run, and changes nothing', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const count = 'SELECT count(*) FROM pg_class UNION ALL SELECT count(*) FROM pg_constraint'
    const before = (await client.query(count)).rows
    expect(await run()).toEqual(['extension: the database has no extension citus'])
    expect((await client.query(count)).rows).toEqual(before)
    await client.end()
  })

  it('prints the statements of a run, each step under its title', async () => {
    const lines = await run('--dry-run')
    expect(lines.slice(0, 1)).toEqual(['-- note the begin'])
    expect(lines.filter((line) => line.startsWith('-- distribute '))).toHaveLength(35)
    expect(lines).toContain(`SELECT create_reference_table('"payments"."apps"');`)
    expect(lines.at(-1)).toContain("VALUES ('state', 'distributed')")
  })

  it('tries the logins of both roles before it notes the begin, because nobody can write from then on', async () => {
    const operators = { functions: [], role: 'payments_operators' }
    const grants = { role: 'payments_service', appendOnly: [], operators }
    const options = { ...distributeOptions(config), grants }
    const titles = (await planDistribution(options)).map(({ title }) => title)
    expect(titles.slice(0, 4)).toEqual([
      'let payments_service log in',
      'let payments_operators log in',
      'try the logins between the servers',
      'note the begin',
    ])
  })

  it.each([
    [{}, undefined, 'the password of the connection of migrate'],
    [
      { PAYMENTS_MIGRATION_DATABASE_URL: 'postgres://trestle:of%20owner@10.0.0.1/trestle' },
      'of owner',
      'the password of the connection of migrate',
    ],
    [
      {
        PAYMENTS_MIGRATION_DATABASE_URL: 'postgres://trestle:of%20owner@10.0.0.1/trestle',
        PAYMENTS_OPERATOR_DATABASE_URL: 'postgres://desk:of%20desk@10.0.0.1/trestle',
      },
      'of desk',
      'the password of PAYMENTS_OPERATOR_DATABASE_URL',
    ],
  ])('gives the role of operators the password of the connection of their changes: %o', (settings, value, place) => {
    const { passwords } = distributeOptions(
      loadPaymentsConfig({
        ...{ PAYMENTS_DATABASE_URL: 'postgres://shop@10.0.0.1/trestle', PAYMENTS_NODE_PASSWORD: 'of service' },
        ...{ PAYMENTS_BASE_URL: 'http://localhost', PAYMENTS_DEV: 'true' },
        ...settings,
      }),
    )
    expect(passwords).toEqual({
      service: { value: 'of service', place: 'PAYMENTS_NODE_PASSWORD' },
      operators: { value, place },
    })
  })

  it('has nothing to undo, and says so', async () => {
    expect(await run('--undo', '--dry-run')).toEqual(['-- nothing is left to do'])
    expect(await run('--undo')).toEqual(['the database is not distributed'])
  })

  it.each([['--rebalance'], ['--isolate', 'a'.repeat(24), '--node', '10.0.0.1:5432']])(
    'refuses %s: nothing is distributed',
    async (...words) => {
      expect(await run(...words)).toEqual(['the database is plain, not distributed'])
    },
  )

  it('refuses to distribute while an undo is unfinished', async () => {
    const options = distributeOptions(config)
    const recordState = (state: DistributionState) =>
      withDatabase(options, async (db) => {
        for (const statement of stateStatements(options.names, state)) await sql.raw(statement).execute(db)
      })
    await recordState('undoing')
    onTestFinished(() => recordState('plain'))
    await expect(distributeDatabase(options)).rejects.toThrow(
      'the distribution is being undone: run distribute --undo again',
    )
  })

  it.each([
    ['--check', '--undo'],
    ['--rebalance', '--dry-run'],
    ['--isolate', 'a'],
    ['--node', '10.0.0.1:5432'],
  ])('refuses %s with %s', async (...words) => {
    expect(await run(...words)).toEqual(['error: these options do not go together'])
  })
})
