import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { IdempotentRequest } from '../access/caller.ts'
import { fingerprintOf, keyDigest } from '../access/fingerprint.ts'
import { idempotencyKeyMalformed } from '../errors.ts'

const HEADER = 'idempotency-key'
const KEY = /^[\x21-\x7e]{1,255}$/

/** Reads the Idempotency-Key of a POST into `request.caller`. Register it after the plugin that sets the caller. */
export const idempotencyKey = fp(
  async (app: FastifyInstance) => {
    app.addHook('preHandler', (request, _reply, done) => {
      if (request.method === 'POST') {
        const idempotentRequest = idempotentRequestOf(request, request.routeOptions.schema?.body ? request.body : {})
        if (idempotentRequest === 'refused') request.problem ??= { stage: 'validation', error: malformedKey() }
        else request.caller = { ...request.caller, idempotentRequest }
      }
      done()
    })
  },
  { name: 'idempotency-key', dependencies: ['read-request', 'authenticate'] },
)

export function malformedKey(): HttpError {
  return idempotencyKeyMalformed()
}

/**
 * Returns the method, path, key digest and body fingerprint. Two requests are the same idempotent request if these are equal.
 * @param body the values of the request body
 * @returns `refused` for a malformed header, `undefined` without the header
 */
export function idempotentRequestOf(request: FastifyRequest, body: unknown): IdempotentRequest | 'refused' | undefined {
  const key = request.headers[HEADER]
  if (key === undefined) return undefined
  return typeof key === 'string' && KEY.test(key) ? toIdempotentRequest(request, key, body) : 'refused'
}

function toIdempotentRequest(
  { method, routeOptions, params, server }: FastifyRequest,
  key: string,
  body: unknown,
): IdempotentRequest {
  const path = (routeOptions.url ?? '').replaceAll(/:(\w+)/g, (_, name: string) => parameterOf(params, name))
  return { method, path, key: keyDigest(server.deps.pepper, key), fingerprint: fingerprintOf(body) }
}

/** Returns a path parameter. The schema has already converted ids in the path to lower case. */
function parameterOf(params: unknown, name: string): string {
  return typeof params === 'object' && params !== null ? String(Reflect.get(params, name)) : ''
}
