import { createHash } from 'node:crypto'
import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import { actorOf } from '../access/actor.ts'
import { invalid } from '../error-vocabulary.ts'
import type { Caller } from '../idempotency/caller.ts'

const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * Who asks, and what for, where the request has an Idempotency-Key.
 * @param path of the request, in one spelling
 * @param content the request as it was understood
 * @throws validationError for a key that is none
 */
export function callerOf(request: EndpointRequest, path: string, content: unknown): Caller {
  const key = request.header('idempotency-key')
  const actor = actorOf(request)
  if (key === undefined) return { actor, repeat: undefined }
  if (!KEY.test(key)) {
    throw invalid([{ path: 'Idempotency-Key', message: 'must be 1 to 255 visible characters of ASCII' }])
  }
  const requestHash = createHash('sha256').update(JSON.stringify(content)).digest()
  return { actor, repeat: { key, path, requestHash } }
}
