import type { HttpError } from '@trestle/common/errors/define-error.ts'
import * as errors from '../../src/errors.ts'
import { type ErrorCase, type ErrorCases, json, send, unique } from './error-case.ts'

const query = (operation: string, text: string, expected: HttpError): ErrorCase => ({
  operation,
  expected,
  raise: async (world) => send(await world.service(), { url: `${operation.slice('get '.length)}?${text}` }),
})

const keys = (count: number, prefix: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, 0]))

const patch = (attributes: unknown, expected: HttpError): ErrorCase => ({
  operation: 'patch /products/{productId}',
  expected,
  raise: async (world) => {
    const service = await world.service()
    const made = await send(service, json('POST', '/products', { sku: unique(), attributes: keys(999, 'a') }))
    return send(service, json('PATCH', `/products/${JSON.parse(made.body).data.id}`, { attributes }))
  },
})

/** Errors of values that the schemas accept. */
export const valueErrors: ErrorCases = {
  idempotencyKeyMalformed: [
    {
      operation: 'post /products',
      expected: errors.idempotencyKeyMalformed(),
      raise: async (world) =>
        send(
          await world.service(),
          json('POST', '/products', { sku: 'A', attributes: '{}' }, { 'idempotency-key': 'a b' }),
        ),
    },
  ],
  limitTooHigh: [query('get /locations', 'limit=501', errors.limitTooHigh(500))],
  cursorForeign: [query('get /locations', 'cursor=x', errors.cursorForeign())],
  flattenWithoutCsv: [query('get /products/export', 'flatten=a', errors.flattenWithoutCsv())],
  attributesInvalid: [
    {
      operation: 'post /products',
      expected: errors.attributesInvalid('must be JSON'),
      raise: async (world) =>
        send(await world.service(), json('POST', '/products', { sku: unique(), attributes: '[' })),
    },
  ],
  flattenInvalid: [
    query('get /products/export', 'format=csv&flatten=', errors.flattenInvalid('must be keys joined with dots')),
  ],
  tooManyFilters: [
    query(
      'get /products',
      Array.from({ length: 11 }, (_, at) => `attributes.a${at}=1`).join('&'),
      errors.tooManyFilters(10),
    ),
  ],
  filtersTooLong: [query('get /products', `attributes.color[ne]=${'('.repeat(1_993)}`, errors.filtersTooLong(6_000))],
  tooManyFilterValues: [
    query(
      'get /products',
      `attributes.a[in]=${'1,'.repeat(60)}1&sku[in]=${'1,'.repeat(40)}1`,
      errors.tooManyFilterValues(100),
    ),
  ],
  mergedToNull: [patch('null', errors.mergedToNull())],
  mergedTooLarge: [patch({ filler: 'x'.repeat(60_000) }, errors.mergedTooLarge(65_536))],
  mergedTooDeep: [
    {
      operation: 'patch /products/{productId}',
      expected: errors.mergedTooDeep(32),
      raise: async (world) => {
        const service = await world.service()
        const made = await send(service, json('POST', '/products', { sku: unique(), attributes: {} }))
        const { id } = JSON.parse(made.body).data
        // Stored by an operator, because no request can store it.
        const deep = `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`
        await world.query('UPDATE inventory.products SET attributes = $1 WHERE id = $2', [deep, id])
        return send(service, json('PATCH', `/products/${id}`, { attributes: { b: 1 } }))
      },
    },
  ],
  mergedTooManyKeys: [patch(keys(1_000, 'b'), errors.mergedTooManyKeys(1_000))],
}
