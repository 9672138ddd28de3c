import { createHash, randomUUID } from 'node:crypto'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { startInventory, type TestInventory } from '../../test/inventory-app.ts'
import { actorOf } from '../../test/operators.ts'
import { loadInventoryConfig } from '../config.ts'
import { createDeps, type ProcessDeps } from '../deps.ts'
import { openInventoryTelemetry } from '../open-telemetry.ts'
import { queueImport } from './queue-import.ts'

let inventory: TestInventory
let deps: ProcessDeps
beforeAll(async () => {
  inventory = await startInventory()
  const config = loadInventoryConfig({ INVENTORY_DATABASE_URL: inventory.databaseUrl })
  deps = await createDeps(config, createLogger({ level: 'fatal', stdout: false }), await openInventoryTelemetry(config))
  await deps.jobs.open()
})
afterAll(async () => {
  await deps?.jobs.close(5_000)
  await deps?.close()
  await inventory?.close()
})

const operator = { actor: actorOf('admin'), key: 'desk', role: 'admin', address: '192.0.2.1' } as const
const queue = (bytes: AsyncIterable<Uint8Array>, contents: object[] = []) => {
  const key = randomUUID()
  return queueImport(deps, {
    ...{ format: 'csv', mode: 'insert', storing: 'batches', operator, key, bytes },
    toCaller: (content) => {
      contents.push(content)
      return {
        actor: operator.actor.id,
        idempotentRequest: { path: '/operator/imports', key, fingerprint: Buffer.alloc(32) },
      }
    },
  })
}
async function* chunksOf(file: Buffer, size: number) {
  for (let at = 0; at < file.length; at += size) yield file.subarray(at, at + size)
}
const Kept = z.array(z.object({ place: z.coerce.number(), bytes: z.instanceof(Buffer) }))
const keptOf = async (id: number | undefined) =>
  Kept.parse(
    await inventory.query('SELECT place, bytes FROM inventory.import_pieces WHERE import_id = $1 ORDER BY place', [id]),
  )

describe('queueImport', () => {
  it.each([
    [1, 1],
    [40_000, 2],
  ])('keeps a file of %i records byte by byte in %i pieces, and sends one job', async (records, places) => {
    const lines = Array.from({ length: records }, (_, n) => `S-${n},{}\n`)
    const file = Buffer.from(`sku,attributes\n${lines.join('')}`)
    const contents: object[] = []
    const { verdict, body } = await queue(chunksOf(file, 50_001), contents)
    expect([verdict, body?.state, body?.total]).toEqual(['done', 'waiting', records])
    const kept = await keptOf(body?.id)
    expect(kept.map(({ place }) => place)).toEqual([...Array(places).keys()])
    expect(Buffer.concat(kept.map(({ bytes }) => bytes)).equals(file)).toBe(true)
    const digest = createHash('sha256').update(file).digest('hex')
    expect(contents).toEqual([{ format: 'csv', mode: 'insert', storing: 'batches', digest }])
    const jobs = `SELECT name FROM inventory_jobs.job WHERE (data->>'importId')::int = $1`
    expect(await inventory.query(jobs, [body?.id])).toEqual([{ name: 'import_products' }])
  })

  it('keeps nothing of a file that breaks off', async () => {
    async function* broken() {
      yield Buffer.from(`sku,attributes\n${'A,{}\n'.repeat(60_000)}`)
      throw new Error('the client has left')
    }
    const rows = () =>
      inventory.query(
        'SELECT (SELECT count(*)::int FROM inventory.operator_imports) AS imports, (SELECT count(*)::int FROM inventory.import_pieces) AS pieces',
      )
    const before = await rows()
    await expect(queue(broken())).rejects.toThrow('the client has left')
    expect(await rows()).toEqual(before)
  })
})
