import { createHash } from 'node:crypto'
import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import { actorOf, findOperator } from '../access/actor.ts'
import type { Caller } from '../idempotency/caller.ts'
import { idempotencyKeyMissing } from '../operator-errors.ts'
import { idempotencyKeyMalformed } from '../request-errors.ts'

const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * The sender of a request, with its Idempotency-Key.
 * @param path of the request; the same for every spelling of the URL
 * @param content the request as it was understood
 * @throws idempotencyKeyMalformed for a malformed key, idempotencyKeyMissing for an operator without a key
 */
export function callerOf(request: EndpointRequest, path: string, content: unknown): Caller {
  const key = request.header('idempotency-key')
  const actor = actorOf(request)
  if (key === undefined) {
    if (findOperator(request) !== undefined) throw idempotencyKeyMissing()
    return { actor, repeat: undefined }
  }
  if (!KEY.test(key)) {
    throw idempotencyKeyMalformed()
  }
  const fingerprint = createHash('sha256').update(JSON.stringify(content)).digest()
  return { actor, repeat: { key, path, fingerprint } }
}
