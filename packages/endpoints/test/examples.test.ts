import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import clock from '../examples/clock.ts'
import { app as notes } from '../examples/notes/server.ts'
import { buildServer } from '../examples/shop.ts'
import { errorBody } from './whole-answers.ts'

describe('notes', () => {
  const ask = async (method: string, path: string, body?: object) => {
    const response = await notes.inject({ method, path, ...(body === undefined ? {} : { body }) })
    return [response.status, response.status === 204 ? undefined : await response.json()]
  }

  it('are created, read, changed and deleted', async () => {
    expect(await ask('POST', '/notes', { text: ' milk ' })).toEqual([
      201,
      { id: 1, text: 'milk', made: expect.any(String) },
    ])
    expect(await ask('POST', '/notes', { text: 'tea' })).toEqual([
      201,
      { id: 2, text: 'tea', made: expect.any(String) },
    ])
    expect(await ask('GET', '/notes')).toEqual([
      200,
      [
        { id: 2, text: 'tea', made: expect.any(String) },
        { id: 1, text: 'milk', made: expect.any(String) },
      ],
    ])
    expect(await ask('GET', '/notes?limit=1')).toEqual([200, [{ id: 2, text: 'tea', made: expect.any(String) }]])
    expect(await ask('PUT', '/notes/1', { text: 'oat milk' })).toEqual([
      200,
      { id: 1, text: 'oat milk', made: expect.any(String) },
    ])
    expect(await ask('GET', '/notes/1')).toEqual([200, { text: 'oat milk', id: 1, made: expect.any(String) }])
    expect(await ask('DELETE', '/notes/1')).toEqual([204, undefined])
    expect(await ask('GET', '/notes/1')).toEqual([
      404,
      { error: { description: 'There is no note 1', type: 'RESOURCE_NOT_FOUND' }, statusCode: 404 },
    ])
    expect(await ask('GET', '/notes/count')).toEqual([200, 1])
    expect(await ask('POST', '/notes', { text: ' ' })).toEqual([
      400,
      {
        error: {
          issues: [{ path: 'text', message: 'Too small: expected string to have >=1 characters' }],
          type: 'VALIDATION_ERROR',
          description: 'text: Too small: expected string to have >=1 characters',
        },
        statusCode: 400,
      },
    ])
    expect(await ask('GET', '/')).toEqual([200, { notes: 'http://localhost/notes', docs: 'http://localhost/docs' }])
    expect(Object.keys(notes.openapi().paths)).toEqual(['/', '/notes', '/notes/{id}', '/notes/count'])
  })
})

describe('shop', () => {
  let shop: FastifyInstance
  beforeAll(async () => {
    shop = await buildServer()
  })
  afterAll(() => shop.close())

  const ask = (method: 'GET' | 'POST', url: string, token: string) =>
    shop.inject({ method, url, headers: token === '' ? {} : { authorization: `Bearer ${token}` } })

  it.each([
    ['/api/stock', 'clerk-token', { tea: 3, cup: 1 }],
    ['/api/stock/tea', 'clerk-token', 3],
    ['/', '', { api: '/api', document: '/openapi.json' }],
  ] as const)('200: answers GET %s with "%s"', async (url, token, body) => {
    const answer = await ask('GET', url, token)
    expect([answer.statusCode, answer.json()]).toEqual([200, body])
  })

  it.each([
    ['GET', '/api/stock', '', errorBody(401, 'UNAUTHENTICATED', 'Authentication is required')],
    [
      'POST',
      '/api/orders?sku=tea',
      'clerk-token',
      errorBody(403, 'INSUFFICIENT_PRIVILEGES', 'This needs the scope write'),
    ],
    [
      'POST',
      '/api/orders?sku=tea&quantity=0',
      'owner-token',
      {
        statusCode: 400,
        error: {
          issues: [{ path: 'quantity', message: 'must be at least 1' }],
          type: 'VALIDATION_ERROR',
          description: 'quantity: must be at least 1',
        },
      },
    ],
    ['GET', '/elsewhere', '', { statusCode: 404, error: 'Not Found', message: 'Route GET:/elsewhere not found' }],
  ] as const)('refuses %s %s with "%s"', async (method, url, token, body) => {
    const refused = await ask(method, url, token)
    const answer = refused.json()
    expect([refused.statusCode, answer]).toEqual([answer.statusCode, body])
  })

  it('takes orders by 201, and by 409 when the stock is gone', async () => {
    const headers = { authorization: 'Bearer owner-token' }
    const order = async (query: string) => shop.inject({ method: 'POST', url: `/api/orders?sku=tea${query}`, headers })
    expect((await order('&quantity=3')).statusCode).toBe(201)
    const refused = await order('')
    expect([refused.statusCode, refused.json()]).toEqual([409, errorBody(409, 'CONFLICT', 'There is not so much tea')])
  })

  it('answers every path of its document', async () => {
    const { servers, paths } = (await shop.inject('/openapi.json')).json()
    expect(Object.keys(paths).sort()).toEqual(['/orders', '/stock', '/stock/{sku}'])
    for (const [path, verbs] of Object.entries<object>(paths)) {
      for (const verb of Object.keys(verbs)) {
        const url = `${servers[0].url}${path.replaceAll(/\{\w+\}/g, 'tea')}`
        expect((await shop.inject({ method: verb.toUpperCase(), url })).statusCode, `${verb} ${url}`).not.toBe(404)
      }
    }
  })
})

describe('clock', () => {
  const ask = (path: string, headers: Record<string, string> = {}) =>
    clock.fetch(new Request(`http://localhost${path}`, { headers }))

  it('answers the time in the requested form', async () => {
    expect(await (await ask('/')).json()).toEqual({ now: expect.stringMatching(/Z$/) })
    expect(await (await ask('/', { accept: 'text/html' })).text()).toMatch(/^<!doctype html>/)
    expect(await (await ask('/robots.txt')).text()).toBe('User-agent: *\nAllow: /\n')
    expect(await (await ask('/ticks/1')).text()).toMatch(/^event: tick\nid: 1\ndata: .*Z\n\n$/)
  })
})
