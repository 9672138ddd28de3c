import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inlineSchemas } from '@trestle/testing/inline-schemas.ts'
import { describe, expect, it } from 'vitest'
import { buildOpenApi } from './openapi.ts'
import { EVENT_TYPES } from './webhooks/event.ts'

/** The API document as clients read it. It is built once, because building it takes longer than each test. */
const document = JSON.parse(JSON.stringify(await buildOpenApi()))
/** The same document, with each reference replaced by its schema. */
const inlined = JSON.parse(inlineSchemas(document))
const BRACKETS = { style: 'deepObject', explode: true }

describe('buildOpenApi', () => {
  it('describes each route with its errors, from the schemas only', () => {
    expect([document.openapi, document.info.title]).toEqual(['3.1.0', 'Trestle payments'])
    const { type, scheme } = document.components.securitySchemes.key
    expect([type, scheme]).toEqual(['http', 'basic'])
    expect(document.security).toEqual([{ key: [] }, { user: [] }])
    expect(document.paths['/apps'].post.security).toEqual([])
    expect(Object.keys(document.paths['/merchants'].post.requestBody.content)).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
    ])
    const { put } = document.paths['/merchants/{merchantId}']
    expect(Object.keys(put.responses)).toEqual([
      '204',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '414',
      '415',
      '429',
      '431',
      '500',
      '503',
    ])
  })

  it('describes a statement as CSV, and its errors as JSON', () => {
    const { components, paths } = document
    const { responses } = paths['/merchants/{merchantId}/statement.csv'].get
    expect(Object.keys(responses[200].content)).toEqual(['text/csv'])
    expect(responses[404]).toEqual({ $ref: '#/components/responses/Error404' })
    expect(Object.keys(components.responses.Error404.content)).toEqual(['application/json'])
  })

  it('documents 413 and 415 for DELETE too', () => {
    const { paths } = document
    const removals = Object.values<{ delete?: { responses: object } }>(paths).flatMap((methods) => methods.delete ?? [])
    expect(removals.length).toBeGreaterThan(3)
    const refusals = removals.map(({ responses }) => ['413', '415'].filter((status) => status in responses))
    expect(refusals).toEqual(removals.map(() => ['413', '415']))
  })

  it('describes each field of an error of the checkout', () => {
    const { paths, components } = document
    const { schema } = paths['/payments'].post.responses[400].content['application/json']
    expect(schema).toEqual({ $ref: '#/components/schemas/CheckoutError' })
    const { properties } = components.schemas.CheckoutError
    expect(Object.keys(properties)).toEqual(['code', 'message', 'path', 'scheme', 'supported', 'error'])
  })

  it('describes every route of the service, with an id and a tag', () => {
    const { paths, tags } = document
    const files = globSync('routes/**/*.ts', { cwd: import.meta.dirname, exclude: ['**/*.test.ts'] })
    const sources = files.map((file) => readFileSync(join(import.meta.dirname, file), 'utf8')).join('\n')
    expect(sources.match(/hide: true/g)).toHaveLength(2)
    const routes = sources.match(/app\.(?:get|post|put|delete)\(|add(?:Operator)?OperationRoute\(/g) ?? []
    const operations = Object.values<object>(paths).flatMap((methods) => Object.values(methods))
    // The document omits the script of /docs. It also omits GET / at the host of links. The sources contain that route only once,
    // because it shares its registration with the other hosts.
    expect(operations).toHaveLength(routes.length - 1)
    const names = tags.map(({ name }: { name: string }) => name)
    const known = (tag: string) => names.includes(tag)
    for (const { operationId, tags: own } of operations)
      expect([operationId, own]).toEqual([expect.any(String), own.filter(known)])
  })

  it('says how queries and forms write objects, lists and booleans', () => {
    const { paths } = inlined
    const filter = paths['/disputes'].get.parameters.find(({ name }: { name: string }) => name === 'filter')
    expect([filter.style, filter.explode, filter.schema.allOf]).toEqual([
      'deepObject',
      true,
      [{ required: ['merchantId'] }],
    ])
    const form = 'application/x-www-form-urlencoded'
    const merchant = paths['/merchants'].post.requestBody.content[form]
    expect(merchant.encoding).toEqual({ company: BRACKETS, bank: BRACKETS })
    expect(merchant.schema.properties.test.enum).toEqual(['yes', 'no', 'y', 'n'])
    const webhook = paths['/merchants/{merchantId}/webhooks'].post.requestBody.content[form]
    expect(Object.keys(webhook.schema.properties)).toEqual(['url', 'events[]'])
  })

  it('says which requests need a body', () => {
    const { paths } = document
    const bodies = Object.entries<Record<string, { requestBody?: { required: boolean } }>>(paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).flatMap(([method, { requestBody }]) =>
          requestBody?.required === false ? [`${method} ${path}`] : [],
        ),
    )
    expect(bodies).toEqual([
      'post /apps',
      'put /merchants/{merchantId}',
      'post /test/transactions/{transactionId}/disputes',
      'post /test/transactions/{transactionId}/frauds',
      'post /operator/exceptions/{merchantId}/{exceptionId}/resolution',
      'post /operator/payouts/run',
      'post /operator/transactions/{transactionId}/disputes',
    ])
  })

  it('lets a text be empty where it may be absent, and nowhere else', () => {
    const { paths } = inlined
    const body = paths['/merchants'].post.requestBody.content['application/json'].schema.properties
    const takes = ({ minLength = 0, pattern = '' }: { minLength?: number; pattern?: string }) =>
      minLength === 0 && new RegExp(pattern, 'u').test('')
    expect([body.name, body.company.properties.number, body.bank.properties.iban].map(takes)).toEqual([
      true,
      true,
      true,
    ])
    expect([body.email, body.website, body.descriptor].map(takes)).toEqual([false, false, false])
    const { token } =
      paths['/payments'].post.requestBody.content['application/json'].schema.properties.card.properties.number.anyOf[1]
        .properties
    expect(takes(token)).toBe(false)
    const { reported } =
      paths['/test/transactions/{transactionId}/frauds'].post.requestBody.content['application/json'].schema.properties
    expect(reported.anyOf.map(({ maxLength }: { maxLength?: number }) => maxLength)).toEqual([undefined, 0, undefined])
    const [, before] = paths['/merchants/{merchantId}/lines'].get.parameters
    expect([before.name, takes(before.schema)]).toEqual(['before', true])
    const filter = paths['/disputes'].get.parameters.find(({ name }: { name: string }) => name === 'filter').schema
    expect([filter.properties.merchantId, filter.properties.transactionId].map(takes)).toEqual([false, true])
  })

  it('asks of a name that it is more than spaces', () => {
    const { properties } = inlined.paths['/apps'].post.requestBody.content['application/json'].schema
    const name = new RegExp(properties.name.pattern, 'u')
    expect(['', 'My shop', ' x ', '  ', '\ufeff', 'a\0'].map((text) => name.test(text))).toEqual([
      ...[true, true, true],
      ...[false, false, false],
    ])
  })

  it('lets unknown fields of forms be texts, so that none is given twice', () => {
    const { paths } = inlined
    const form = paths['/merchants'].post.requestBody.content['application/x-www-form-urlencoded'].schema
    expect([form.additionalProperties, form.properties.company.additionalProperties]).toEqual([
      { type: 'string' },
      { type: 'string' },
    ])
  })

  it('says which fields of a charge and of an order need each other', () => {
    const { paths } = inlined
    const bodyOf = (path: string) => paths[path].post.requestBody.content['application/json'].schema
    const charge = bodyOf('/merchants/{merchantId}/transactions')
    expect(charge.oneOf.map(({ required }: { required: string[] }) => required)).toEqual([
      ['transactionId'],
      ['authorizationId'],
      ['cardId'],
    ])
    const { plan, unplanned } = bodyOf('/payments').properties
    expect(plan.items.oneOf.map(({ required }: { required: string[] }) => required)).toEqual([
      ['scheduled'],
      ['repeat'],
    ])
    expect(unplanned.anyOf).toHaveLength(2)
  })

  it('has the codes of currencies and of countries once, and refers to them elsewhere', () => {
    const text = JSON.stringify(document)
    for (const value of ['"AED"', '"AF"']) expect(text.split(value)).toHaveLength(2)
    expect(text.split('"#/components/schemas/ChargeableCurrency"').length).toBeGreaterThan(9)
  })

  it('describes a delivery of each event', () => {
    const { webhooks, components } = document
    expect(Object.keys(webhooks)).toEqual(EVENT_TYPES)
    const [, { properties }] = webhooks['dispute.won'].post.requestBody.content['application/json'].schema.allOf
    expect(properties.data.properties.dispute).toEqual({ $ref: '#/components/schemas/Dispute' })
    for (const [, name = ''] of JSON.stringify(webhooks).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(Object.keys(components.schemas)).toContain(name)
    }
  })

  it('names the headers of requests and answers', () => {
    const { paths } = document
    const headersOf = ({ parameters = [] }: { parameters?: { in: string; name: string }[] }) =>
      parameters.flatMap((each) => (each.in === 'header' ? [each.name] : []))
    expect(headersOf(paths['/vault'].post)).toEqual(['Accept-Version', 'X-Client'])
    expect(headersOf(paths['/payments'].post)).toEqual(['Accept-Version', 'X-Client', 'Idempotency-Key'])
    expect(headersOf(paths['/merchants'].post)).toEqual(['Idempotency-Key'])
    expect(headersOf(paths['/apps'].post)).toEqual([])
    expect(Object.keys(paths['/merchants'].post.responses[201].headers)).toEqual([
      'X-Request-Id',
      'Idempotent-Replayed',
    ])
  })
})
