import { buffer } from 'node:stream/consumers'
import { type StubAnswer, type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { objectNotFound, serviceBusy, serviceUnavailable } from '../errors.ts'
import { createServiceClient, type ServiceClient } from './service-client.ts'

let service: StubProvider
let answer: StubAnswer
let client: ServiceClient
beforeAll(async () => {
  service = await startStubProvider(() => answer)
  client = createServiceClient({ inventory: `${service.url}/below` })
})
afterAll(() => service.close())
beforeEach(() => {
  answer = { body: { data: [] } }
})

const UNAVAILABLE = serviceUnavailable({ service: 'inventory' })
const list = { service: 'inventory', method: 'GET', path: '/products', headers: {} } as const
const sentBy = async (call: object) => {
  await client.send({ ...list, ...call })
  const { method, url, headers, body } = service.requests.at(-1) ?? {}
  return [method, url, headers?.['content-type'], body]
}

async function* pieces() {
  yield Buffer.from('sku\n')
  yield Buffer.from('MUG\n')
}

describe('send', () => {
  it.each([
    ['a read without a body', {}, ['GET', '/below/products', undefined, '']],
    [
      'a query without what is undefined',
      { query: { limit: 25, cursor: undefined } },
      ['GET', '/below/products?limit=25', undefined, ''],
    ],
    [
      'a body as JSON, without what is undefined',
      { method: 'POST', body: { sku: 'MUG', note: undefined } },
      ['POST', '/below/products', 'application/json', '{"sku":"MUG"}'],
    ],
    ['a deletion without a body', { method: 'DELETE' }, ['DELETE', '/below/products', undefined, '']],
  ])('sends %s', async (_what, call, expected) => {
    expect(await sentBy(call)).toEqual(expected)
  })

  it('sends a file under its own type, in the place of the body', async () => {
    const file = { type: 'text/csv', bytes: pieces() }
    expect(await sentBy({ method: 'POST', file, body: { ignored: 1 } })).toEqual([
      'POST',
      '/below/products',
      'text/csv',
      'sku\nMUG\n',
    ])
  })

  it('answers status, JSON, version and the cursor of the next page', async () => {
    const headers = { etag: '"p7-1"', link: '</products?cursor=abc>; rel="next"' }
    answer = { status: 201, headers, body: { data: [1] } }
    expect(await client.send(list)).toEqual({ status: 201, body: { data: [1] }, next: 'abc', etag: '"p7-1"' })
  })

  it.each([301, 400, 401, 404, 409, 429, 499])('answers the refusal %i, and follows no redirect', async (status) => {
    answer = { status, headers: { location: `${service.url}/elsewhere` }, body: { code: 'x' } }
    const before = service.requests.length
    const expected = { status, body: { code: 'x' }, next: undefined, etag: undefined }
    expect([await client.send(list), service.requests.length - before]).toEqual([expected, 1])
  })

  it.each<[string, StubAnswer]>([
    ['500', { status: 500 }],
    ['503', { status: 503 }],
    ['more than 16 MiB', { body: 'x'.repeat(16 * 1024 * 1024 + 1) }],
  ])('503: counts a service that answers %s as unavailable', async (_what, given) => {
    answer = given
    await expect(client.send(list)).rejects.toThrow(UNAVAILABLE)
  })

  it('503: counts an unreachable service as unavailable', async () => {
    const gone = await startStubProvider(() => undefined)
    await gone.close()
    await expect(createServiceClient({ inventory: gone.url }).send(list)).rejects.toThrow(UNAVAILABLE)
  })

  it('503: counts a service without an address as unavailable', async () => {
    await expect(client.send({ ...list, service: 'auth' })).rejects.toThrow(serviceUnavailable({ service: 'auth' }))
  })

  it('404: calls nothing for a path that leads to another object', async () => {
    const before = service.requests.length
    await expect(client.send({ ...list, method: 'DELETE', path: '/products/..' })).rejects.toThrow(objectNotFound())
    expect(service.requests.length).toBe(before)
  })
})

describe('openFile', () => {
  const file = { service: 'inventory', path: '/products/export', headers: {} } as const

  it('opens a file with its type and its name', async () => {
    const headers = { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="products.csv"' }
    answer = { headers, body: 'sku\nMUG\n' }
    const opened = await client.openFile({ ...file, query: { format: 'csv' } })
    if (opened.kind !== 'file') throw new Error(`refused with ${opened.status}`)
    const { bytes, ...described } = opened
    expect([described, (await buffer(bytes)).toString(), service.requests.at(-1)?.url]).toEqual([
      { kind: 'file', type: 'text/csv', disposition: 'attachment; filename="products.csv"' },
      'sku\nMUG\n',
      '/below/products/export?format=csv',
    ])
  })

  it.each([401, 403, 404, 429])('tells the status of the refusal %i, and leaves its body', async (status) => {
    answer = { status, body: 'x'.repeat(1_000_000) }
    expect(await client.openFile(file)).toEqual({ kind: 'refused', status })
  })

  it('503: distinguishes a service that cannot take another file from an unavailable service', async () => {
    answer = { status: 503, body: 'x'.repeat(1_000_000) }
    await expect(client.openFile(file)).rejects.toThrow(serviceBusy({ service: 'inventory' }))
    answer = { status: 500, body: 'x'.repeat(1_000_000) }
    await expect(client.openFile(file)).rejects.toThrow(UNAVAILABLE)
  })

  it('404: opens no path that leads to another object', async () => {
    await expect(client.openFile({ ...file, path: '/products/../stock' })).rejects.toThrow(objectNotFound())
  })
})
