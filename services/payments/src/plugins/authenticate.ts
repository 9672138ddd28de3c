import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import { type Caller, type Credentials, limitKeyOf } from '../access/caller.ts'
import { refuseUnknown } from '../access/require-access.ts'
import { rememberKeyUse } from '../apps/app-key-repository.ts'
import { createKeyReader, type PresentedKey } from '../apps/presented-key.ts'
import { unauthorized } from '../errors.ts'
import { refuseBeyond } from './limit-effects.ts'

/** The authentication schemes of apps and users, for the API document. A request uses one of them. */
export const KEY_SCHEMES = {
  key: { type: 'http', scheme: 'basic', description: 'No user name; the API key as password' },
  user: { type: 'http', scheme: 'bearer', description: 'An access token of a user, where that is switched on' },
} as const

/**
 * Guards the routes of its context. A request needs an API key, or an access token if users may sign in. It must also be within
 * its rate limit. The SQL statement that serves the request decides whether the key is known. A refused key counts against the
 * address of the caller.
 */
export const authenticate = fp(
  async (app: FastifyInstance) => {
    const { pepper, userTokens, rateLimits, meter, usedKeys } = app.deps
    const counter = meter.createCounter('payments_auth_failures_total', { description: 'Requests without a valid key' })
    const failures = startAtZero(counter, [{}])
    const refuseRequest = refuseBeyond(app, 'key', rateLimits.requests)
    const refuseFailure = refuseBeyond(app, 'failure', rateLimits.failures)
    const readKey = createKeyReader(pepper)
    const goodKeys = new LRUCache<string, true>({ max: GOOD_KEYS_MAX })
    app.decorateRequest('caller')
    app.decorateRequest('identityId')
    const admitKey = async ({ name, mac }: PresentedKey, address: string): Promise<Credentials> => {
      // Each counted key adds a row to the store. An address without failures left must not add rows with invalid keys.
      const isCounted = goodKeys.has(name) || (await rateLimits.failures.wait(address)) === undefined
      if (isCounted) await refuseRequest(name)
      return { keyMac: mac, userEmail: null }
    }
    const admitUser = async (authorization = ''): Promise<Credentials> => {
      const userEmail = await userTokens?.verify(BEARER.exec(authorization)?.[1] ?? '')
      if (!userTokens || userEmail === undefined) refuseUnknown()
      const credentials = { keyMac: null, userEmail }
      await refuseRequest(limitKeyOf(credentials))
      await userTokens.register(userEmail)
      return credentials
    }
    app.addHook('onRequest', async (request, reply) => {
      const { authorization } = request.headers
      const key = readKey(authorization)
      const credentials = await (key === undefined ? admitUser(authorization) : admitKey(key, request.ip))
      const onIdentified = (identityId: string) => {
        request.identityId = identityId
      }
      request.caller = { ...credentials, idempotentRequest: undefined, onIdentified }
      if (credentials.userEmail !== null) await reply.countForCaller(limitKeyOf(credentials))
      // Count only keys known to be valid: anybody can send unknown keys, which are judged only after the body.
      else if (key !== undefined && goodKeys.has(key.name)) await reply.countForCaller(`key ${key.name}`)
    })
    app.setErrorHandler(async (error, request) => {
      if (error instanceof Error && 'code' in error && error.code === UNAUTHORIZED) {
        failures.add(1)
        await refuseFailure(request.ip)
      }
      throw error
    })
    const rememberGoodKey = ({ caller, identityId }: FastifyRequest): void => {
      const keyMac = identityId === undefined ? null : caller.keyMac
      if (keyMac === null) return
      rememberKeyUse(usedKeys, keyMac)
      goodKeys.set(limitKeyOf(caller), true)
    }
    app.addHook('onSend', (request, _reply, payload, done) => {
      rememberGoodKey(request)
      const merchantId = merchantIdOf(request.params)
      const merchant = merchantId === undefined ? {} : { merchant_id: merchantId }
      request.logFields = { identity_id: request.identityId, ...merchant, ...request.logFields }
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
    /** Set on every route that needs authentication. */
    caller: Caller
    /** The identity of the caller. `undefined` until the database has answered, and for unknown keys. */
    identityId: string | undefined
  }
}
