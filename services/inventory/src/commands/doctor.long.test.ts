import { join } from 'node:path'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { inventoryMigrations } from '@trestle/migrations/inventory.ts'
import { createTemporaryDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadInventoryConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'
import { doctor } from './doctor.ts'
import { seedCommand } from './seed.ts'

const logFile = join(createFolder(), 'app.log')
removeFoldersAtEnd()
let database: TemporaryDatabase
beforeEach(async () => {
  database = await createTemporaryDatabase({
    template: 'inventory',
    migrate: (url) => migrateUp(migrateOptions(load({ INVENTORY_DATABASE_URL: url }))),
  })
})
afterEach(() => database.drop())

const load = (changes: Readonly<Record<string, string>>) =>
  loadInventoryConfig({
    INVENTORY_DB_PREPARED: String(prepared),
    INVENTORY_DB_ROLE: 'inventory_service',
    INVENTORY_LOG_FILE: logFile,
    ...changes,
  })

async function examine(changes: Readonly<Record<string, string>> = {}) {
  const lines: string[] = []
  const isHealthy = await doctor(
    () => load({ INVENTORY_DATABASE_URL: database.url, ...changes }),
    (line) => lines.push(line),
  )
  return { isHealthy, lines }
}

/** An address where nothing listens. */
const AWAY = 'postgres://trestle@127.0.0.1:1/trestle'

const HEALTHY = [
  'ok    settings',
  `ok    log file: ${logFile}`,
  'ok    database: answers',
  'ok    migration database: answers',
  `ok    migrations: ${Object.keys(inventoryMigrations).length} applied`,
  'ok    stock: every level is the sum of its movements',
  'ok    dead jobs: none',
]

describe('inventory doctor', () => {
  it('finds nothing wrong in a healthy service', async () => {
    expect(await examine()).toEqual({ isHealthy: true, lines: HEALTHY })
  })

  it('finds stock that was changed by hand', async () => {
    const seed = seedCommand(
      () => load({ INVENTORY_DATABASE_URL: database.url }),
      () => {},
    )
    await seed.parseAsync(['--products', '3', '--stock', '7'], { from: 'user' })
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('UPDATE inventory.stock_levels SET on_hand = on_hand + 1')
    await client.end()
    expect(await examine()).toEqual({
      isHealthy: false,
      lines: [
        ...HEALTHY.slice(0, -2),
        'wrong stock: 3 levels that are not the sum of their movements; rows were changed by hand: ' +
          'compare levels and reservations with the ledger of movements',
        ...HEALTHY.slice(-1),
      ],
    })
  })

  it('names the dead-letter jobs of imports', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(`
      INSERT INTO inventory_jobs.job (name, source_name, source_output, data, created_on)
      VALUES ('import_products_dead', 'import_products', '{"message": "no room"}', '{"importId": 1}', '2026-03-01T12:00:00Z')`)
    await client.end()
    expect(await examine()).toEqual({
      isHealthy: false,
      lines: [
        ...HEALTHY.slice(0, -1),
        'wrong dead jobs: 1 of import_products (no room; last at 2026-03-01T12:00:00.000Z); look at the log for more, mend ' +
          'the cause, and import the file again; they stay in the queue of the same name with _dead for 90 days',
      ],
    })
  })

  it('says only that the database is away, and what it could not check', async () => {
    expect(await examine({ INVENTORY_DATABASE_URL: AWAY })).toEqual({
      isHealthy: false,
      lines: [
        ...HEALTHY.slice(0, 2),
        'wrong database: connect ECONNREFUSED 127.0.0.1:1, so not checked: migration database, migrations, stock, dead jobs; ' +
          'start PostgreSQL, or correct INVENTORY_DATABASE_URL',
      ],
    })
  })

  it('names unknown settings without their values, and goes on', async () => {
    const { isHealthy, lines } = await examine({ INVENTORY_DB_ROL: 'hidden' })
    const note = 'note  unknown setting INVENTORY_DB_ROL, did you mean INVENTORY_DB_ROLE?'
    expect({ isHealthy, lines: lines.toSorted() }).toEqual({ isHealthy: true, lines: [note, ...HEALTHY].toSorted() })
  })

  it('notes that authentication is off where other machines reach the service, and goes on', async () => {
    const { isHealthy, lines } = await examine({ INVENTORY_HOST: '0.0.0.0' })
    const note =
      'note  INVENTORY_AUTH_ENABLED is false, so anyone who reaches the service may read and change everything: ' +
      'INVENTORY_HOST lets other machines in'
    expect({ isHealthy, lines: lines.toSorted() }).toEqual({ isHealthy: true, lines: [note, ...HEALTHY].toSorted() })
  })
})
