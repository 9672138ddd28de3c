import { inlineSchemas } from '@trestle/testing/inline-schemas.ts'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { buildOpenApi, withoutTokens } from './openapi.ts'

const Operation = z.object({ responses: z.record(z.string(), z.unknown()) })
const Document = z.object({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
})

/** The document as clients read it. It is built once, because building takes longer than each test. */
const document = JSON.parse(JSON.stringify(await buildOpenApi()))

describe('buildOpenApi', () => {
  it('lists every operation with the statuses that it answers', () => {
    const { paths } = Document.parse(document)
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { responses }]) => `${method} ${path}: ${Object.keys(responses).join(' ')}`,
      ),
    )
    expect(operations).toEqual([
      'get /: 200 400 414 431 500',
      'get /docs: 200 301 304 400 404 414 431 500',
      'get /health: 200 400 414 431 500',
      'get /locations: 200 400 401 403 414 429 431 500 503',
      'post /locations: 201 400 401 403 408 409 413 414 415 422 429 431 500 503',
      'get /locations/{locationId}: 200 304 400 401 403 404 414 429 431 500 503',
      'patch /locations/{locationId}: 200 400 401 403 404 408 409 412 413 414 415 428 429 431 500 503',
      'delete /locations/{locationId}: 204 400 401 403 404 408 409 412 413 414 415 428 429 431 500 503',
      'get /movements: 200 400 401 403 414 429 431 500 503',
      'post /movements: 201 400 401 403 404 408 409 413 414 415 422 429 431 500 503',
      'get /movements/{movementId}: 200 400 401 403 404 414 429 431 500 503',
      'get /openapi.json: 200 304 400 404 414 431 500',
      'get /operator/audit: 200 400 401 404 414 429 431 500 503',
      'get /operator/imports: 200 400 401 404 414 429 431 500 503',
      'post /operator/imports: 202 400 401 403 404 408 413 414 415 422 429 431 500 503',
      'get /operator/imports/{importId}: 200 400 401 404 414 429 431 500 503',
      'get /operator/low-stock: 200 400 401 404 414 429 431 500 503',
      'get /operator/me: 200 400 401 404 414 429 431 500 503',
      'get /operator/overview: 200 400 401 404 414 429 431 500 503',
      'get /products: 200 400 401 403 414 429 431 500 503',
      'post /products: 201 400 401 403 408 409 413 414 415 422 429 431 500 503',
      'get /products/{productId}: 200 304 400 401 403 404 414 429 431 500 503',
      'put /products/{productId}: 200 400 401 403 404 408 409 412 413 414 415 428 429 431 500 503',
      'patch /products/{productId}: 200 400 401 403 404 408 409 412 413 414 415 428 429 431 500 503',
      'delete /products/{productId}: 204 400 401 403 404 408 409 412 413 414 415 428 429 431 500 503',
      'get /products/export: 200 400 401 403 406 414 429 431 500 503',
      'post /products/import: 200 400 401 403 408 413 414 415 429 431 500 503',
      'get /ready: 200 400 414 431 500 503',
      'get /reservations: 200 400 401 403 414 429 431 500 503',
      'post /reservations: 201 400 401 403 404 408 409 413 414 415 422 429 431 500 503',
      'get /reservations/{reservationId}: 200 400 401 403 404 414 429 431 500 503',
      'delete /reservations/{reservationId}: 204 400 401 403 404 408 409 413 414 415 429 431 500 503',
      'post /reservations/commit/{reservationId}: 200 400 401 403 404 408 409 413 414 415 422 429 431 500 503',
      'get /stock: 200 400 401 403 414 429 431 500 503',
      'get /stock/{productId}: 200 400 401 403 404 414 429 431 500 503',
      'get /stock/{productId}/{locationId}: 200 304 400 401 403 404 414 429 431 500 503',
      'get /users: 200 400 401 403 414 429 431 500 503',
      'get /users/{userId}: 200 400 401 403 404 414 429 431 500 503',
    ])
  })

  it('defines every schema that it refers to', () => {
    const { components } = Document.parse(document)
    const named = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
    expect(named.length).toBeGreaterThan(0)
    for (const name of named) expect(components.schemas).toHaveProperty(String(name))
  })

  it('describes every member that an error may have, and every form of a file', () => {
    const { paths, components } = JSON.parse(inlineSchemas(document))
    const { properties } = components.schemas.Error.properties.error
    expect(Object.keys(properties)).toEqual([
      ...[
        'type',
        'description',
        'issues',
        'available',
        'reserved',
        'current',
        'remaining',
        'line',
        'report',
        'action',
        'role',
      ],
    ])
    expect(Object.keys(paths['/products/export'].get.responses[200].content)).toEqual([
      ...['application/x-ndjson', 'text/csv'],
    ])
    expect(Object.keys(paths['/products/import'].post.responses[200].content)).toEqual([
      ...['application/json', 'application/x-ndjson'],
    ])
  })

  it('names the header Link of every list', () => {
    const { paths } = document
    const lists = Object.keys(paths).filter((path) =>
      paths[path].get?.parameters?.some(({ name }: { name: string }) => name === 'cursor'),
    )
    expect(lists).toContain('/operator/audit')
    expect(lists.filter((path) => paths[path].get.responses[200].headers.Link === undefined)).toEqual([])
  })

  it('makes the same document each time', async () => {
    expect(JSON.parse(JSON.stringify(await buildOpenApi()))).toEqual(document)
  })

  it('describes authentication, conditions and keys', () => {
    const { paths, components } = document
    const description =
      'An access token with the scope inventory:read or inventory:write. Needed while INVENTORY_AUTH_ENABLED is true; it is false by default'
    expect(components.securitySchemes).toEqual({
      token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description },
      operator: {
        type: 'apiKey',
        in: 'header',
        name: 'X-Trestle-Operator-Key',
        description: 'The operator key of a console, beside the access token of the operator who acts as bearer',
      },
    })
    const asked = ['/products', '/operator/me', '/health'].map((path) => paths[path].get.security)
    expect(asked).toEqual([[{ token: [] }], [{ operator: [] }], []])
    const headersOf = ({ parameters = [] }: { parameters?: { in: string; name: string }[] }) =>
      parameters.flatMap((each) => (each.in === 'header' ? [each.name] : []))
    const one = paths['/products/{productId}']
    expect([headersOf(one.get), headersOf(one.patch), headersOf(paths['/products'].post)]).toEqual([
      ['If-None-Match'],
      ['If-Match'],
      ['Idempotency-Key'],
    ])
    expect(Object.keys(paths['/products'].get.responses[200].headers)).toEqual([
      'X-Request-Id',
      'Link',
      'X-Total-Count',
    ])
  })

  it('asks for a token in every operation on data, and in none when the service checks no tokens', () => {
    const securities = (paths: object) =>
      Object.entries(paths).flatMap(([path, item]) =>
        Object.values<{ security?: unknown[] }>(item).map(({ security }) => ({ path, security })),
      )
    const operations = securities(document.paths)
    const open = operations.filter(({ security }) => security?.length === 0)
    expect(open.map(({ path }) => path)).toEqual(['/', '/docs', '/health', '/openapi.json', '/ready'])
    const needed = operations.filter(({ security }) => security?.length !== 0)
    const ofOperators = '[{"operator":[]}]'
    expect(new Set(needed.map(({ security }) => JSON.stringify(security)))).toEqual(
      new Set(['[{"token":[]}]', ofOperators]),
    )
    const unchecked = JSON.parse(withoutTokens(Buffer.from(JSON.stringify(document))).toString())
    expect(new Set(securities(unchecked.paths).map(({ security }) => JSON.stringify(security)))).toEqual(
      new Set(['[]', ofOperators]),
    )
  })

  it('has an example of each error, with its status', () => {
    const { paths, components } = document
    const answers = Object.values<object>(paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId, responses }) =>
        Object.entries<{ $ref?: string; content?: Record<string, { example?: { statusCode: number } }> }>(responses)
          .filter(([status]) => status >= '400')
          .map(([status, answer]) => {
            const { content } = components.responses[String(answer.$ref?.split('/').at(-1))] ?? answer
            return [operationId, status, String(content['application/json'].example.statusCode)]
          }),
      ),
    )
    expect(answers.length).toBeGreaterThan(0)
    expect(answers.filter(([, status, shown]) => status !== shown)).toEqual([])
  })

  it('describes bodies as they are taken', () => {
    const { components, paths } = document
    const { requestBody } = paths['/products/import'].post
    expect([requestBody.required, Object.keys(requestBody.content)]).toEqual([
      true,
      ['text/csv', 'application/x-ndjson'],
    ])
    const needed = ['post /movements', 'patch /products/{productId}', 'patch /locations/{locationId}'].map((name) => {
      const [method = '', path = ''] = name.split(' ')
      return paths[path][method].requestBody.required
    })
    expect(needed).toEqual([true, true, true])
    const { content } = paths['/movements'].post.requestBody
    const line = { $ref: '#/components/schemas/MovementLine' }
    expect(content['application/x-www-form-urlencoded'].schema).toEqual(line)
    expect(content['application/json'].schema).toEqual({ $ref: '#/components/schemas/PostMovementsRequest' })
    const [one, several] = components.schemas.PostMovementsRequest.oneOf
    const { properties, required } = components.schemas[several.$ref.split('/').at(-1)]
    expect([one, properties.lines.items, required]).toEqual([line, line, ['lines']])
    const [limit] = paths['/users'].get.parameters
    expect([limit.name, limit.schema.maximum]).toEqual(['limit', 500])
  })
})
