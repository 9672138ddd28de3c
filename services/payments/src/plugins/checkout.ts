import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Problem, RequestInput } from '../access/require-access.ts'
import type { OrderRequest } from '../checkout/open-checkout.ts'
import { refuseOrder } from '../checkout/order.ts'
import type { Order } from '../checkout/payment-body.ts'
import { bodyInvalid, versionMissing, versionUnsupported } from '../errors.ts'
import { refuseBeyond } from './limit-effects.ts'
import { requireValues } from './read-request.ts'

/** Any web page may call the checkout, without credentials (reference: Checkout). */
const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Accept-Version, X-Client, Idempotency-Key',
  'access-control-expose-headers': 'X-Request-Id, X-Status-Code, Retry-After',
  'access-control-max-age': '600',
} as const

const VERSION = '1'
const JSON_TYPE = /^application\/json\s*(?:;|$)/i
const CLIENT_LENGTH_MAX = 255

/** Applies the rules of the checkout API to every request: rate limit, version, JSON body, and errors as one object. */
export const checkout = fp(
  async (app: FastifyInstance) => {
    const refuse = refuseBeyond(app, 'address', app.deps.rateLimits.checkouts)
    app.addHook('onRoute', ({ method, url, schema, constraints = {} }) => {
      if (method !== 'POST') return
      Object.assign(schema ?? {}, { consumes: ['application/json'] })
      app.options(url, { constraints, schema: { hide: true } }, (_request, reply) => reply.code(204).send())
    })
    app.addHook('onRequest', async (request) => {
      if (request.method === 'OPTIONS') return
      const client = request.headers['x-client']
      if (typeof client === 'string') request.logFields = { client: client.slice(0, CLIENT_LENGTH_MAX) }
      await refuse(request.ip)
      judgeHeaders(request)
    })
    // Set in onSend, so that pages can also read the response to a request refused before this plugin.
    app.addHook('onSend', (_request, reply, payload, done) => {
      reply.headers(CORS_HEADERS)
      done(null, payload)
    })
    app.addHook('preHandler', async ({ problem, method }) => {
      if (problem && method !== 'OPTIONS') refuseProblem(problem)
    })
  },
  { name: 'checkout', dependencies: ['read-request'] },
)

/** The order in a request to the checkout. @throws the error of the refused values */
export function toOrderRequest(request: FastifyRequest & { readonly body: RequestInput<Order> }): OrderRequest {
  return {
    order: requireValues(request.body),
    ip: request.ip,
    isSecure: request.protocol === 'https',
    idempotentRequest: undefined,
    onMerchant: (merchantId) => {
      request.logFields = { ...request.logFields, merchant_id: merchantId }
    },
  }
}

function judgeHeaders({ headers }: FastifyRequest): void {
  const version = headers['accept-version']
  if (version === undefined) throw versionMissing()
  if (version !== VERSION) throw versionUnsupported()
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) refuseBody()
}

function refuseProblem({ stage, error, fields = [] }: Problem): never {
  if (stage === 'parse') refuseBody(error)
  refuseOrder(fields, error)
}

function refuseBody(cause?: unknown): never {
  throw bodyInvalid({ cause })
}
