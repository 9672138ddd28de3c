import type { InventoryDeps } from '../../src/deps.ts'
import * as errors from '../../src/errors.ts'
import { rawRequest, sendRaw } from '../raw-request.ts'
import { type ErrorCase, type ErrorCases, json, send } from './error-case.ts'

const raw = (request: string): ErrorCase => ({
  raise: async (world) => sendRaw(await world.listen(await world.service()), request),
})

const starting: InventoryDeps['readiness'] = {
  markReady: () => {},
  drain: () => {},
  missing: async () => ({ state: 'starting' }),
  report: async () => ({}),
}

/** Errors that requests meet before an operation. */
export const connectionErrors: ErrorCases = {
  badRequest: [raw('nonsense\r\n\r\n')],
  notReady: [
    {
      operation: 'get /ready',
      expected: errors.notReady({ state: 'starting' }),
      raise: async (world) => send(await world.service({}, { readiness: starting }), { url: '/ready' }),
    },
  ],
  malformedRequest: [
    {
      operation: 'post /products',
      expected: errors.malformedRequest({ problem: 'The body is no JSON' }),
      raise: async (world) => send(await world.service(), json('POST', '/products', '{')),
    },
  ],
  methodNotAllowed: [
    {
      expected: errors.methodNotAllowed({ headers: { Allow: 'GET, HEAD, OPTIONS' } }),
      raise: async (world) => send(await world.service(), { method: 'DELETE', url: '/users/1' }),
    },
  ],
  notImplemented: [raw(rawRequest('PROPFIND /users'))],
  originNotAllowed: [
    {
      raise: async (world) =>
        send(await world.service({ INVENTORY_CORS_ORIGINS: 'https://shop.example' }), {
          method: 'OPTIONS',
          url: '/users',
          headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
        }),
    },
  ],
}
