import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../access/caller.ts'
import { noteKeyUse } from '../apps/app-key-repository.ts'
import { createKeyReader } from '../apps/presented-key.ts'
import { unauthorized } from '../errors.ts'
import { refuseBeyond } from './refuse-beyond.ts'

/**
 * Guards the routes of its context: an app key, or where persons may sign in a token of theirs, must be given, and be within
 * its rate. Whether a key is known is decided by the statement that serves the request. What is not good counts against the
 * caller's address.
 */
export const authenticate = fp(
  async (app: FastifyInstance) => {
    const { pepper, persons, limits, meter, usedKeys } = app.deps
    const counter = meter.createCounter('payments_auth_failures_total', { description: 'Requests without a good key' })
    const failures = startAtZero(counter, [{}])
    const refuseRequest = refuseBeyond(app, 'key', limits.requests)
    const refuseFailure = refuseBeyond(app, 'failure', limits.failures)
    const readKey = createKeyReader(pepper)
    const goodKeys = new LRUCache<string, true>({ max: GOOD_KEYS_MAX })
    app.decorateRequest('caller')
    app.addHook('onRequest', async (request) => {
      const { authorization } = request.headers
      const key = readKey(authorization)
      if (key !== undefined) {
        // Each key that is counted has a row in the store: an address that has used its failures up makes none by bad keys.
        const isCounted = goodKeys.has(key.name) || (await limits.failures.wait(request.ip)) === undefined
        if (isCounted) await refuseRequest(key.name)
        request.caller = { keyMac: key.mac, person: null, identityId: undefined, repeat: undefined }
        return
      }
      const person = await persons?.verify(BEARER.exec(authorization ?? '')?.[1] ?? '')
      if (!persons || person === undefined) throw unauthorized()
      await refuseRequest(`person ${person.toLowerCase()}`)
      await persons.register(person)
      request.caller = { keyMac: null, person, identityId: undefined, repeat: undefined }
    })
    app.setErrorHandler(async (error, request) => {
      if (error instanceof Error && 'code' in error && error.code === UNAUTHORIZED) {
        failures.add(1)
        await refuseFailure(request.ip)
      }
      throw error
    })
    app.addHook('onSend', (request, _reply, payload, done) => {
      const { keyMac: mac = null, identityId } = request.caller ?? {}
      if (mac !== null && identityId !== undefined) {
        noteKeyUse(usedKeys, mac)
        goodKeys.set(mac.toString('base64url'), true)
      }
      const merchantId = merchantIdOf(request.params)
      request.logFields = {
        identity_id: identityId,
        ...(merchantId === undefined ? {} : { merchant_id: merchantId }),
        ...request.logFields,
      }
      done(null, payload)
    })
  },
  { name: 'authenticate' },
)

const UNAUTHORIZED = unauthorized.code
const GOOD_KEYS_MAX = 10_000
const BEARER = /^bearer +([\w.-]+) *$/i

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
