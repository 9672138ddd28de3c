import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createTemporaryDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadInventoryConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { seedCommand } from './seed.ts'

let database: TemporaryDatabase
const load = (url: string) =>
  loadInventoryConfig({
    INVENTORY_DATABASE_URL: url,
    INVENTORY_DB_PREPARED: String(prepared),
    INVENTORY_DB_ROLE: 'inventory_service',
  })
beforeEach(async () => {
  database = await createTemporaryDatabase({
    template: 'inventory',
    migrate: (url) => migrateUp(migrateOptions(load(url))),
  })
})
afterEach(() => database.drop())

async function query(text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

/** Runs the command, and returns the printed lines. */
async function seeded(...words: readonly string[]): Promise<string[]> {
  const lines: string[] = []
  const command = seedCommand(
    () => load(database.url),
    (line) => lines.push(line),
  )
  await command.configureOutput({ writeErr: () => {} }).parseAsync(words, { from: 'user' })
  return lines
}

describe('seed', () => {
  it('adds sample products and stock once', async () => {
    expect(await seeded('--products', '25')).toEqual(['added 25 of 25 sample products'])
    const more = ['--products', '30', '--stock', '7']
    const received = (count: number) =>
      `received 7 of each of ${count} sample products that had no stock at the location MAIN`
    expect(await seeded(...more)).toEqual(['added 5 of 30 sample products', received(30)])
    expect(await seeded(...more)).toEqual(['added 0 of 30 sample products', received(0)])
    expect(
      await query('SELECT count(*)::int AS levels, sum(on_hand)::int AS units FROM inventory.stock_levels'),
    ).toEqual([{ levels: 30, units: 210 }])
  })

  it.each([
    [
      'UPDATE inventory.locations SET active = false',
      'the location MAIN is not active, so it takes no stock; PATCH /locations/1 with {"active":true} changes that',
    ],
    ["UPDATE inventory.locations SET code = 'SHOP'", 'there is no location MAIN; there are SHOP'],
    [
      'DELETE FROM inventory.locations',
      'there is no location MAIN, nor any other; inventory locations create makes one',
    ],
  ])('says after %j why no stock can be received', async (change, message) => {
    await query(change)
    await expect(seeded('--products', '1', '--stock', '7')).rejects.toHaveProperty('message', message)
  })

  it('adds the same product on every run', async () => {
    await seeded('--products', '1')
    const attributes = { name: 'Sample product 1', color: 'green', size: 1, price: 0.01, tags: ['sample', 'batch-0'] }
    expect(await query('SELECT sku, attributes FROM inventory.products')).toEqual([
      { sku: 'SAMPLE-00000001', attributes },
    ])
  })

  it.each([
    [
      ['--products', '0'],
      "error: option '--products <count>' argument '0' is invalid. It must be a whole number from 1 to 10000000.",
    ],
    [
      ['--products', 'ten'],
      "error: option '--products <count>' argument 'ten' is invalid. It must be a whole number from 1 to 10000000.",
    ],
    [
      ['--products', '30', '--stock', '0'],
      "error: option '--stock <quantity>' argument '0' is invalid. It must be a whole number from 1 to 1000000000000.",
    ],
    [[], "error: required option '--products <count>' not specified"],
  ])('refuses %j, and adds nothing', async (words, message) => {
    await expect(seeded(...words)).rejects.toHaveProperty('message', message)
    expect(await query('SELECT sku FROM inventory.products')).toEqual([])
  })
})
