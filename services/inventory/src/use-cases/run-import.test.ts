import { randomUUID } from 'node:crypto'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { actorOf } from '../../test/operators.ts'
import { loadInventoryConfig } from '../config.ts'
import { createDeps, type ProcessDeps } from '../deps.ts'
import { GIVEN_UP, IMPORT_ATTEMPTS, importTask } from '../imports/import-job.ts'
import {
  findOperatorImport,
  insertImportPiece,
  insertOperatorImport,
  updateArrived,
} from '../imports/operator-import-repository.ts'
import { openInventoryTelemetry } from '../open-telemetry.ts'
import { startImports } from './run-import.ts'

let inventory: TestInventory
let deps: ProcessDeps
const stopping = new AbortController()
beforeAll(async () => {
  inventory = await startInventory()
  const config = loadInventoryConfig({ INVENTORY_DATABASE_URL: inventory.databaseUrl })
  deps = await createDeps(config, createLogger({ level: 'fatal', stdout: false }), await openInventoryTelemetry(config))
  await deps.jobs.open()
  await startImports({ ...deps, stopping: stopping.signal })
})
afterAll(async () => {
  stopping.abort()
  await deps?.jobs.close(5_000)
  await deps?.close()
  await inventory?.close()
})
beforeEach(() => inventory.query('DELETE FROM inventory.products'))

const operator = { actor: actorOf('admin'), key: 'desk', role: 'admin', address: '192.0.2.1' } as const
/** Stores a file that has arrived completely. */
async function keepFile(file: string, total: number): Promise<number> {
  const order = { format: 'csv', mode: 'insert', storing: 'batches' } as const
  const id = await insertOperatorImport(deps.db, { operator, key: undefined }, order)
  await insertImportPiece(deps.db, id, 0, Buffer.from(file))
  await updateArrived(deps.db, id, total)
  return id
}

/** Runs the job of an import. @param tried the number of earlier attempts @returns the outcome */
async function work(importId: number, tried = 0): Promise<unknown> {
  const job = sql.id('inventory_jobs', 'job')
  const id = await deps.db.transaction().execute(async (trx) => {
    const sent = await deps.jobs.send(trx, importTask, { importId })
    await sql`UPDATE ${job} SET retry_count = ${tried} WHERE id = ${sent}`.execute(trx)
    return sent
  })
  const read = async () =>
    (await inventory.query(`SELECT output->>'outcome' AS outcome FROM inventory_jobs.job WHERE id = $1`, [id]))[0]
      ?.outcome
  await expect.poll(read, { timeout: 60_000 }).toEqual(expect.any(String))
  return read()
}

/** Returns an import with its report and the number of remaining pieces of its file. */
async function importOf(id: number): Promise<object> {
  const { state, processed, report, error } = (await findOperatorImport(deps.db, id)) ?? {}
  const pieces = await inventory.query('SELECT FROM inventory.import_pieces WHERE import_id = $1', [id])
  return { state, processed, report, error, pieces: pieces.length }
}
const skus = async () => (await inventory.query('SELECT sku FROM inventory.products ORDER BY id')).map(({ sku }) => sku)
const counted = {
  received: 2,
  created: 2,
  updated: 0,
  skipped: 0,
  failed: 0,
  line: 3,
  durationMs: expect.any(Number),
  errors: [],
}

describe('the job of an import', () => {
  it('continues after the records that an earlier attempt has stored', async () => {
    const id = await keepFile('sku,attributes\nA,{}\nB,{}\n', 2)
    const report = JSON.stringify({ ...counted, received: 1, created: 1, durationMs: 5 })
    await inventory.query(
      `UPDATE inventory.operator_imports SET state = 'running', attempt_id = $2, processed = 1, report = $3 WHERE id = $1`,
      [id, randomUUID(), report],
    )
    expect(await work(id, 1)).toBe('done')
    expect(await importOf(id)).toEqual({ state: 'done', processed: 2, report: counted, error: null, pieces: 0 })
    expect(await skus()).toEqual(['B'])
  })

  it('ends an import as failed whose file cannot be read, at the first attempt', async () => {
    const id = await keepFile('sku,colour\n', 0)
    expect(await work(id)).toBe('done')
    const error = { type: 'BAD_REQUEST', description: expect.stringContaining('"colour"') }
    const report = { ...counted, received: 0, created: 0, line: 1 }
    expect(await importOf(id)).toEqual({ state: 'failed', processed: 0, report, error, pieces: 0 })
  })

  it('ends an import as failed after its last attempt, and stores nothing more', async () => {
    const id = await keepFile('sku,attributes\nA,{}\n', 1)
    expect(await work(id, IMPORT_ATTEMPTS)).toBe('done')
    expect(await importOf(id)).toEqual({ state: 'failed', processed: 0, report: null, error: GIVEN_UP, pieces: 0 })
    expect(await skus()).toEqual([])
  })

  it('is dropped when its import is gone', async () => {
    expect(await work(999_999)).toBe('dropped')
  })

  it('is dropped when its import has ended, and leaves the report as it is', async () => {
    const id = await keepFile('sku,attributes\nA,{}\n', 1)
    await work(id)
    const before = await importOf(id)
    expect(await work(id)).toBe('dropped')
    expect([await importOf(id), await skus()]).toEqual([before, ['A']])
  })
})
