import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createTemporaryDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { loadInventoryConfig } from '../config.ts'
import { getOnlyCode } from '../locations/location-repository.ts'
import { migrateOptions } from '../migrations.ts'
import { openCommandDatabase } from '../open-database.ts'
import { locationsCommand } from './locations.ts'

let temporary: TemporaryDatabase
const load = (url: string) =>
  loadInventoryConfig({
    INVENTORY_DATABASE_URL: url,
    INVENTORY_DB_PREPARED: String(prepared),
    INVENTORY_DB_ROLE: 'inventory_service',
  })
beforeAll(async () => {
  temporary = await createTemporaryDatabase({
    template: 'inventory',
    migrate: (url) => migrateUp(migrateOptions(load(url))),
  })
})
afterAll(() => temporary.drop())

const open = () => openCommandDatabase(load(temporary.url), 'locations')

/** Runs `inventory locations …`, and returns the printed lines. */
async function run(...words: string[]): Promise<string[]> {
  const lines: string[] = []
  const program = new Command().exitOverride()
  program.addCommand(locationsCommand({ open: async () => open(), print: (line) => void lines.push(line) }))
  await program.parseAsync(['locations', ...words], { from: 'user' })
  return lines
}
const json = async (...words: string[]): Promise<unknown> => JSON.parse((await run(...words, '--json')).join('\n'))
const cells = (lines: readonly string[]) => lines.map((line) => line.split(/ {2,}/))

describe('inventory locations', () => {
  it('create, list: add a location, and print all of them', async () => {
    const [[, id = ''] = [], ...created] = cells(await run('create', 'SHOP', 'Shop in Main Street'))
    expect(created).toEqual([
      ['code', 'SHOP'],
      ['name', 'Shop in Main Street'],
      ['active', 'true'],
    ])
    const attic = { id: expect.any(Number), code: 'ATTIC', name: 'Attic', active: true }
    expect(await json('create', 'ATTIC', 'Attic')).toEqual(attic)
    expect(cells(await run('list', '--limit', '2'))).toEqual([
      ['ID', 'CODE', 'NAME', 'ACTIVE'],
      ['1', 'MAIN', 'Main warehouse', 'true'],
      [id, 'SHOP', 'Shop in Main Street', 'true'],
    ])
    const [main, shop, ...others] = z.array(z.looseObject({ id: z.number() })).parse(await json('list'))
    expect([main?.id, shop?.id, others]).toEqual([1, Number(id), [attic]])
  })

  it.each([
    [['MAIN', 'Another'], 'A location with this code already exists.'],
    [['ma in', 'Main'], 'the code: must be 1 to 64 letters, digits, dots, underscores and hyphens'],
    [['NEW', ' '], 'the name: must not be empty'],
    [['NEW'], "error: missing required argument 'name'"],
  ])('create: refuses %j, and adds nothing', async (words, message) => {
    const before = await json('list')
    await expect(run('create', ...words)).rejects.toHaveProperty('message', message)
    expect(await json('list')).toEqual(before)
  })

  it('says how to make a location where there is none', async () => {
    const database = open()
    const transaction = await database.db.startTransaction().execute()
    await transaction.updateTable('locations').set({ deleted_at: new Date() }).execute()
    await expect(getOnlyCode(transaction)).rejects.toThrow('there is no location; inventory locations create makes one')
    await transaction.rollback().execute()
    await database.close()
  })
})
