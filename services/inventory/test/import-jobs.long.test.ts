import { createHash, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ReportedImportView } from '../src/imports/import-report.ts'
import { startInventory, type TestInventory } from './inventory-app.ts'
import { actorOf } from './operators.ts'
import { addressOf, type InventoryProcess, runInventory } from './run-inventory.ts'

const SECRET = 'a secret of thirty-two characters'
const ISSUER = 'http://auth.test'
const KEY = 'key'.padEnd(43, '-')

let inventory: TestInventory
let holder: pg.Client
let token: string
const running: InventoryProcess[] = []
beforeAll(async () => {
  inventory = await startInventory()
  holder = new pg.Client({ connectionString: inventory.databaseUrl })
  await holder.connect()
  const { id, email, role } = actorOf('admin')
  token = await new SignJWT({ session_id: randomUUID(), email, aal: 'aal2', app_metadata: { console_role: role } })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(id)
    .setIssuer(ISSUER)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET))
})
afterAll(async () => {
  await Promise.all(running.map(({ cleanUp }) => cleanUp()))
  await holder?.end()
  await inventory?.close()
})

/** Starts a process that works on imports. */
async function serve(): Promise<InventoryProcess & { readonly url: string }> {
  const started = runInventory(['serve'], {
    INVENTORY_DATABASE_URL: inventory.databaseUrl,
    INVENTORY_DB_ROLE: 'inventory_service',
    INVENTORY_MIGRATE: 'false',
    INVENTORY_OPERATOR_KEYS: `desk:admin:${createHash('sha256').update(KEY).digest('hex')}`,
    INVENTORY_OPERATOR_JWT_SECRET: SECRET,
    INVENTORY_OPERATOR_ISSUER: ISSUER,
  })
  running.push(started)
  return { ...started, url: await addressOf(started) }
}

const headers = () => ({ 'x-trestle-operator-key': KEY, authorization: `Bearer ${token}` })
async function send(url: string, query: string, records: number): Promise<number> {
  const lines = Array.from({ length: records }, (_, n) => `{"sku":"S-${n}","attributes":{"n":${n}}}\n`)
  const answer = await fetch(`${url}/operator/imports?${query}`, {
    method: 'POST',
    headers: { ...headers(), 'content-type': 'application/x-ndjson', 'idempotency-key': randomUUID() },
    body: lines.join(''),
  })
  return Started.parse(await answer.json()).data.id
}
const Started = z.object({ data: z.object({ id: z.int() }) })
const Found = z.object({ data: ReportedImportView })
const find = async (url: string, id: number) =>
  Found.parse(await (await fetch(`${url}/operator/imports/${id}`, { headers: headers() })).json()).data
const numbers = async () =>
  inventory.query(
    `SELECT count(*)::int AS products, count(DISTINCT sku)::int AS skus, max(version) AS version FROM inventory.products
     WHERE attributes->>'n' = substr(sku, 3)`,
  )
const waiting = async () =>
  (
    await inventory.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND application_name = 'inventory-transfers'`,
    )
  ).length

const LONG = { timeout: 60_000 }

/** Holds the SKU so that an import waits in the middle of its file until `holder` rolls back. */
async function holdSku(sku: string): Promise<void> {
  await holder.query('BEGIN')
  await holder.query(`INSERT INTO inventory.products (sku, attributes) VALUES ($1, '{}')`, [sku])
}

describe('an import whose process is killed', () => {
  it.each([
    ['mode=insert', 1_500],
    ['mode=insert&atomic=true', 0],
  ])('continues in another process, and stores each record once (%s)', async (query, kept) => {
    await inventory.query('DELETE FROM inventory.products')
    await holdSku('S-1700')
    const first = await serve()
    const id = await send(first.url, query, 2_200)
    await expect.poll(waiting, LONG).toBe(1)
    const { state, processed, report } = await find(first.url, id)
    expect([state, processed, report?.created ?? 0]).toEqual(['running', kept === 0 ? 2_200 : kept, kept])
    first.child.kill('SIGKILL')
    await first.exited
    await holder.query('ROLLBACK')
    expect(await inventory.query('SELECT state FROM inventory.operator_imports WHERE id = $1', [id])).toEqual([
      { state: 'running' },
    ])
    const second = await serve()
    await expect.poll(async () => (await find(second.url, id)).state, LONG).toBe('done')
    const ended = await find(second.url, id)
    expect([ended.processed, ended.report]).toEqual([
      2_200,
      {
        ...{ received: 2_200, created: 2_200, updated: 0, skipped: 0, failed: 0 },
        ...{ line: 2_200, durationMs: expect.any(Number), errors: [] },
      },
    ])
    expect(await numbers()).toEqual([{ products: 2_200, skus: 2_200, version: 1 }])
    await second.cleanUp()
  })
})

describe('an import whose process is stopped', () => {
  it('continues in another process', async () => {
    await inventory.query('DELETE FROM inventory.products')
    await holdSku('S-600')
    const first = await serve()
    const id = await send(first.url, 'mode=insert', 1_000)
    await expect.poll(waiting, LONG).toBe(1)
    first.child.kill('SIGTERM')
    expect(await first.exited).toBe(0)
    await holder.query('ROLLBACK')
    const second = await serve()
    await expect.poll(async () => (await find(second.url, id)).state, LONG).toBe('done')
    expect((await find(second.url, id)).report?.created).toBe(1_000)
  })
})

describe('an import whose job is given out again while its attempt goes on', () => {
  it.each([
    ['mode=insert', 500],
    ['mode=insert&atomic=true', 2_200],
  ])('stores each record once, by the later attempt (%s)', async (query, processed) => {
    await inventory.query('DELETE FROM inventory.products')
    // A process that was killed has left rows for clean-up.
    await inventory.query('TRUNCATE inventory.imports, inventory.import_rows')
    await holdSku('S-600')
    const { url } = await serve()
    const id = await send(url, query, 2_200)
    await expect.poll(waiting, LONG).toBe(1)
    const held = async () =>
      inventory.query('SELECT attempt_id, processed::int FROM inventory.operator_imports WHERE id = $1', [id])
    const [before] = await held()
    expect(before?.processed).toBe(processed)
    // As the queue does with the job of a process that it has not heard of for 10 s, such as one that was halted.
    await inventory.query(`UPDATE inventory_jobs.job SET state = 'retry', start_after = now() WHERE state = 'active'`)
    await expect
      .poll(held, LONG)
      .toEqual([{ attempt_id: expect.not.stringContaining(String(before?.attempt_id)), processed }])
    await holder.query('ROLLBACK')
    await expect.poll(async () => (await find(url, id)).state, LONG).toBe('done')
    const { report } = await find(url, id)
    expect([report?.received, report?.created, report?.failed]).toEqual([2_200, 2_200, 0])
    expect(await numbers()).toEqual([{ products: 2_200, skus: 2_200, version: 1 }])
    const audited = `SELECT sum((changes->>'created')::int)::int AS created FROM inventory.operator_audit WHERE object_id = $1`
    expect(await inventory.query(audited, [id])).toEqual([{ created: 2_200 }])
    const left = 'SELECT count(*)::int AS rows FROM inventory.import_rows'
    await expect.poll(() => inventory.query(left), LONG).toEqual([{ rows: 0 }])
    // The report of the earlier attempt must not end the job of the later attempt, which would then stop at the next kill.
    // `done`: the later attempt has ended the import.
    const jobs = `SELECT state::text, retry_count, output->>'outcome' AS outcome FROM inventory_jobs.job WHERE (data->>'importId')::int = $1`
    await expect
      .poll(() => inventory.query(jobs, [id]), LONG)
      .toEqual([{ state: 'completed', retry_count: 1, outcome: 'done' }])
  })
})
