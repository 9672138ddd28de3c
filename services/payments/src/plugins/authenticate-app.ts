import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Caller } from '../access/caller.ts'
import { keyMac } from '../apps/app.ts'
import { readBasicKey } from '../apps/basic-credentials.ts'
import { unauthorized } from '../errors.ts'
import { refuseBeyond } from './refuse-beyond.ts'

/**
 * Guards the routes of its context: an app key must be given, and be within its rate. Whether the key is known is decided by
 * the statement that serves the request. Keys that are not good count against the caller's address.
 */
export const authenticateApp = fp(
  async (app: FastifyInstance) => {
    const { pepper, limits, meter } = app.deps
    const failures = meter.createCounter('payments_auth_failures_total', { description: 'Requests without a good key' })
    const refuseRequest = refuseBeyond(app, 'key', limits.requests)
    const refuseFailure = refuseBeyond(app, 'failure', limits.failures)
    app.decorateRequest('caller')
    app.addHook('onRequest', async (request) => {
      const key = readBasicKey(request.headers.authorization)
      if (key === undefined) throw unauthorized()
      const mac = keyMac(pepper, key)
      await refuseRequest(mac.toString('base64url'))
      request.caller = { keyMac: mac, person: null, identityId: undefined, repeat: undefined }
    })
    app.setErrorHandler(async (error, request) => {
      if (error instanceof Error && 'code' in error && error.code === UNAUTHORIZED) {
        failures.add(1)
        await refuseFailure(request.ip)
      }
      throw error
    })
    app.addHook('onSend', (request, _reply, payload, done) => {
      const merchantId = merchantIdOf(request.params)
      request.logFields = {
        identity_id: request.caller?.identityId,
        ...(merchantId === undefined ? {} : { merchant_id: merchantId }),
        ...request.logFields,
      }
      done(null, payload)
    })
  },
  { name: 'authenticate-app' },
)

const UNAUTHORIZED = unauthorized.code

function merchantIdOf(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null || !('merchantId' in params)) return undefined
  return typeof params.merchantId === 'string' && params.merchantId !== '' ? params.merchantId : undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route that needs a key. */
    caller: Caller
  }
}
