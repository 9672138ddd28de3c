import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { importReport, refusedBody } from '../../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../../test/inventory-app.ts'
import { actorOf, operatorHeaders, testOperators } from '../../../test/operators.ts'

let inventory: TestInventory
let guarded: TestReplica
beforeAll(async () => {
  inventory = await startInventory()
  guarded = await startReplica(
    inventory.databaseUrl,
    { INVENTORY_IMPORT_MAX_BYTES: '400000' },
    { operators: testOperators },
  )
})
afterAll(async () => {
  await guarded?.close()
  await inventory?.close()
})
beforeEach(() => inventory.query('DELETE FROM inventory.products'))

const CSV = { 'content-type': 'text/csv' }
const send = async (payload: string, query = '', headers: Record<string, string> = {}) => {
  const answer = await guarded.app.inject({
    method: 'POST',
    url: `/operator/imports${query}`,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': randomUUID(), ...CSV, ...headers },
    payload,
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}
const get = async (url: string, role: OperatorRole = 'viewer') => {
  const answer = await guarded.app.inject({ url, headers: operatorHeaders(role) })
  return { status: answer.statusCode, body: answer.json(), link: String(answer.headers.link) }
}
const stateOf = async (id: number) => (await get(`/operator/imports/${id}`)).body.data.state
const ended = async (id: number) => {
  await expect.poll(() => stateOf(id), { timeout: 60_000 }).toMatch(/done|failed/)
  return (await get(`/operator/imports/${id}`)).body.data
}
const pieces = async () => Number((await inventory.query('SELECT count(*) FROM inventory.import_pieces'))[0]?.count)
const count = async (table: string) =>
  Number((await inventory.query(`SELECT count(*) FROM inventory.${table}`))[0]?.count)
const skus = async () => (await inventory.query('SELECT sku FROM inventory.products ORDER BY id')).map(({ sku }) => sku)
const auditOf = async (id: number) =>
  inventory.query(
    `SELECT action, actor_email, ARRAY(SELECT unnest(product_ids) ORDER BY 1) AS product_ids, changes
     FROM inventory.operator_audit
     WHERE object_kind = 'import' AND object_id = $1 ORDER BY id`,
    [id],
  )
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const { role: _role, ...createdBy } = actorOf('admin')
const importOf = (id: number, more: object) => ({
  id,
  ...{ state: 'waiting', format: 'csv', mode: 'insert', atomic: false, dryRun: false, total: 2, processed: 0 },
  ...{ createdBy, created: time, ended: null, report: null, error: null },
  ...more,
})
const reportOf = (counts: object) => ({
  ...{
    received: 2,
    created: 0,
    updated: 0,
    skipped: 0,
    failed: 0,
    line: expect.any(Number),
    durationMs: expect.any(Number),
    errors: [],
  },
  ...counts,
})

describe('POST /operator/imports', () => {
  it('202: keeps the file and imports it in the background', async () => {
    const { status, body, headers } = await send('sku,attributes\nA,"{""n"":1}"\nB,{}\n')
    const { id } = body.data
    expect([status, headers.location, body]).toEqual([
      202,
      `/operator/imports/${id}`,
      { statusCode: 202, data: importOf(id, {}) },
    ])
    expect(await ended(id)).toEqual(
      importOf(id, { state: 'done', processed: 2, ended: time, report: reportOf({ created: 2 }) }),
    )
    expect([await skus(), await pieces()]).toEqual([['A', 'B'], 0])
  })

  it('202: reports each record that fails by its line', async () => {
    const { status, body } = await send('sku,attributes\nA,{}\nA,{}\n')
    expect(status).toBe(202)
    const error = { line: 3, sku: 'A', type: 'CONFLICT', description: 'A product with this sku already exists.' }
    expect(await ended(body.data.id)).toEqual(
      importOf(body.data.id, {
        ...{ state: 'done', processed: 2, ended: time },
        report: reportOf({ created: 1, failed: 1, errors: [error] }),
      }),
    )
  })

  it('202: an atomic import with a record that fails ends as failed with its report', async () => {
    const { status, body } = await send('sku,attributes\nA,{}\nA,{}\n', '?atomic=true')
    expect(status).toBe(202)
    const { state, error, report } = await ended(body.data.id)
    expect([state, error, report.failed, await skus()]).toEqual([
      'failed',
      { type: 'VALIDATION_ERROR', description: 'Nothing was stored, because not every record could be.' },
      1,
      [],
    ])
  })

  it('202: a dry run stores nothing and leaves one row in the audit log', async () => {
    const { status, body } = await send('sku,attributes\nA,{}\nB,{}\n', '?dryRun=true')
    expect(status).toBe(202)
    const { state, report } = await ended(body.data.id)
    expect([state, report, await skus()]).toEqual(['done', reportOf({ created: 2 }), []])
    expect((await auditOf(body.data.id)).length).toBe(1)
  })

  it.each(['', '&atomic=true'])('202: the products that are stored (%s) are in the audit log', async (more) => {
    await send('sku,attributes\nA,{}\n').then(({ body }) => ended(body.data.id))
    const { status, body } = await send('sku,attributes\nA,"{""n"":1}"\nB,{}\n', `?mode=upsert${more}`)
    expect(status).toBe(202)
    await ended(body.data.id)
    const stored = (await inventory.query('SELECT id FROM inventory.products ORDER BY id')).map(({ id }) => id)
    const storing = more === '' ? 'batches' : 'all-or-nothing'
    const entry = { action: 'products.import', actor_email: 'admin@example.com' }
    expect(await auditOf(body.data.id)).toEqual([
      { ...entry, product_ids: [], changes: { format: 'csv', mode: 'upsert', storing, total: 2 } },
      { ...entry, product_ids: stored, changes: { created: 1, updated: 1 } },
    ])
  })

  it('202: a double click imports once', async () => {
    const key = { 'idempotency-key': randomUUID() }
    const file = 'sku,attributes\nA,{}\nB,{}\n'
    const answers = await Promise.all([send(file, '', key), send(file, '', key)])
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    expect(answers[0]?.body).toEqual(answers[1]?.body)
    expect(answers.map(({ headers }) => headers['idempotent-replayed']).sort()).toEqual(['true', undefined])
    const { id } = answers[0]?.body.data ?? {}
    expect((await ended(id)).report).toEqual(reportOf({ created: 2 }))
    expect((await inventory.query('SELECT id FROM inventory.operator_imports WHERE id >= $1', [id])).length).toBe(1)
  })

  it('422: refuses a key that was used for another file, and keeps nothing of it', async () => {
    const key = { 'idempotency-key': randomUUID() }
    const first = await send('sku,attributes\nA,{}\n', '', key)
    await ended(first.body.data.id)
    const before = await count('operator_imports')
    const { status, body } = await send('sku,attributes\nB,{}\n', '', key)
    expect([status, body]).toEqual([
      422,
      refusedBody(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.'),
    ])
    expect([await count('operator_imports'), await pieces()]).toEqual([before, 0])
  })

  it('400: refuses a file without a header, and keeps nothing of it', async () => {
    const before = await count('operator_imports')
    const { status, body } = await send('')
    const report = importReport({ received: 0, line: 1 })
    expect([status, body]).toEqual([400, refusedBody(400, 'BAD_REQUEST', 'The file has no header.', { report })])
    expect([await count('operator_imports'), await pieces()]).toEqual([before, 0])
  })

  it('400: refuses a file without an Idempotency-Key', async () => {
    const answer = await guarded.app.inject({
      method: 'POST',
      url: '/operator/imports',
      headers: { ...operatorHeaders('admin'), ...CSV },
      payload: 'sku,attributes\n',
    })
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      refusedBody(400, 'IDEMPOTENCY_KEY_REQUIRED', 'A change of an operator needs an Idempotency-Key.'),
    ])
  })

  it('413: refuses a file that is too large, and keeps nothing of it', async () => {
    const before = await count('operator_imports')
    const { status, body } = await send(`sku,attributes\n${'A,{}\n'.repeat(100_000)}`)
    expect([status, body]).toEqual([413, refusedBody(413, 'PAYLOAD_TOO_LARGE', 'The request body is too large.')])
    expect([await count('operator_imports'), await pieces()]).toEqual([before, 0])
  })

  it('503: imports nothing of a file that clean-up has deleted because no piece of it came for an hour', async () => {
    const arriving = () => inventory.query(`SELECT FROM inventory.operator_imports WHERE state = 'arriving'`)
    async function* file() {
      yield Buffer.from('sku,attributes\n')
      await expect.poll(arriving).toHaveLength(1)
      await inventory.query(`UPDATE inventory.operator_imports SET touched_at = now() - interval '61 minutes'`)
      await expect.poll(arriving, { timeout: 60_000 }).toEqual([])
      yield Buffer.from('SLOW,{}\n')
    }
    const answer = await guarded.app.inject({
      method: 'POST',
      url: '/operator/imports',
      headers: {
        ...operatorHeaders('admin'),
        ...CSV,
        'idempotency-key': randomUUID(),
        'transfer-encoding': 'chunked',
      },
      payload: Readable.from(file()),
    })
    expect([answer.statusCode, answer.json(), await skus()]).toEqual([
      503,
      refusedBody(503, 'SERVICE_UNAVAILABLE', 'The service is not available at the moment. Please try again.', {
        report: importReport({ received: 0, line: 0 }),
      }),
      [],
    ])
  })

  it('415: refuses a file of another type', async () => {
    const { status, body } = await send('{}', '', { 'content-type': 'application/json' })
    expect([status, body]).toEqual([
      415,
      refusedBody(
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        'The body must be text/csv or application/x-ndjson, in UTF-8 and without Content-Encoding.',
      ),
    ])
  })

  it.each(OPERATOR_ROLES.filter((role) => role !== 'admin'))('403: refuses the role %s', async (role) => {
    const { status, body } = await send('sku,attributes\n', '', operatorHeaders(role))
    expect([status, body]).toEqual([
      403,
      {
        statusCode: 403,
        error: {
          ...{ type: 'OPERATOR_FORBIDDEN', description: 'The role of the operator may not do this.' },
          ...{ action: 'products.import', role },
        },
      },
    ])
  })

  it('404: is unknown where the service has no operator keys', async () => {
    const request = { method: 'POST', url: '/operator/imports', headers: operatorHeaders('admin') } as const
    const response = await inventory.app.inject(request)
    expect([response.statusCode, response.json()]).toEqual([
      404,
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The resource you requested does not exist.'),
    ])
  })
})

describe('GET /operator/imports', () => {
  it('200: lists the newest first, in pages, without the file that arrives', async () => {
    await inventory.query('DELETE FROM inventory.operator_imports')
    const ids: number[] = []
    for (let n = 0; n < 3; n++) {
      const { body } = await send('sku,attributes\n', '?mode=skip')
      ids.unshift(body.data.id)
      await ended(body.data.id)
    }
    await inventory.query(`INSERT INTO inventory.operator_imports (format, mode, storing, actor_id, actor_email, key_name, role, address)
      VALUES ('csv', 'skip', 'batches', '${createdBy.id}', '${createdBy.email}', 'desk', 'admin', '::1')`)
    const listed = ({ report: _report, error: _error, ...shown }: ReturnType<typeof importOf>) => shown
    const done = { state: 'done', mode: 'skip', total: 0, ended: time }
    const first = await get('/operator/imports?limit=2')
    expect(first.status).toBe(200)
    expect(first.body.data).toEqual(ids.slice(0, 2).map((id) => listed(importOf(id, done))))
    const next = /<([^>]+)>; rel="next"/.exec(first.link)?.[1] ?? ''
    expect((await get(next)).body.data).toEqual(ids.slice(2).map((id) => listed(importOf(id, done))))
    expect((await get('/operator/imports?order=asc&limit=1')).body.data[0].id).toBe(ids[2])
  })
})

describe('GET /operator/imports/ID', () => {
  it('404: refuses an unknown id', async () => {
    const { status, body } = await get('/operator/imports/999999')
    expect([status, body]).toEqual([
      404,
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The import you requested does not exist.'),
    ])
  })
})
