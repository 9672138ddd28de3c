import type { KeyObject } from 'node:crypto'
import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, refuseStranger, requireOutcome } from '../access/require-access.ts'
import { keyMac, repeatedKey, toStoredKey } from '../apps/app.ts'
import { callCreateKey } from '../apps/app-key-repository.ts'
import { idempotencyKeySpent } from '../errors.ts'

/** A new key. Only its caller gets it. */
export interface CreatedKey {
  readonly id: string
  readonly key: string
  readonly created: Date
  readonly replayed: boolean
}

/**
 * Adds a key to the calling app (reference: Keys of an app). Only the caller gets the key, because the service stores only its
 * MAC. Requests with the same Idempotency-Key get the same key.
 * @throws idempotencyKeySpent if that key was revoked; forbidden if the caller is a user
 */
export async function createKey(
  deps: { readonly pools: Pools; readonly pepper: KeyObject; readonly generateApiKey: () => string },
  {
    caller,
    callerKey,
    input,
  }: {
    readonly caller: Caller
    /** The key with which the app calls. `undefined` if the caller is a user or unknown. */
    readonly callerKey: string | undefined
    readonly input: RequestInput<unknown>
  },
): Promise<CreatedKey> {
  const { pools, pepper } = deps
  if (callerKey === undefined) refuseStranger()
  const key =
    caller.idempotentRequest === undefined
      ? deps.generateApiKey()
      : repeatedKey(pepper, callerKey, caller.idempotentRequest.key)
  const { keyMac: newMac, hint } = input.verdict === 'refused' ? NO_KEY : toStoredKey(pepper, key)
  const added = await callCreateKey(pools, { keyMac: keyMac(pepper, callerKey), newMac, hint })
  const { outcome, replayed } = requireOutcome(caller, added, input)
  if (outcome.verdict === 'key-spent') throw idempotencyKeySpent()
  return { ...outcome.key, key, replayed }
}

/** The values for a refused request. The statement then only checks access. */
const NO_KEY = { keyMac: null, hint: null }
