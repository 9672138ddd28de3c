import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { anyTime } from '../../test/bodies.ts'
import { CONTEXT } from '../../test/request-context.ts'
import { pkceRequired } from '../errors.ts'
import {
  providerNotSupported,
  stateExpired,
  stateInvalid,
  stateMissing,
  stateUnknown,
  stateUsed,
} from '../external-errors.ts'
import { insertAuthorizationFlow, type NewAuthorizationFlow } from '../flows/flow-repository.ts'
import { finishAuthorization, takeAuthorization } from './finish-authorization.ts'

const { deps, clock, close } = await openTestApp()
afterAll(close)

const PKCE = { challenge: 'x'.repeat(43), method: 'plain' } as const
const FLOW = {
  provider: 'github',
  redirectTo: CONTEXT.redirectTo,
  pkce: undefined,
  inviteTokenHash: null,
  linking: null,
  codeVerifier: null,
  requestToken: null,
} as const

/** Begins a flow, as `GET /authorize` does. */
async function begin(changes: Partial<NewAuthorizationFlow> = {}): Promise<string> {
  const id = randomUUID()
  await insertAuthorizationFlow(deps.db, { ...FLOW, id, at: clock.now(), ...changes })
  return id
}

describe('takeAuthorization', () => {
  it.each([
    ['an implicit flow, which it deletes', undefined, stateUnknown],
    ['a PKCE flow, which stays for the exchange', PKCE, stateUsed],
  ])('takes %s, once', async (_case, pkce, error) => {
    const id = await begin({ pkce })
    expect(await takeAuthorization(deps, id)).toEqual({ ...FLOW, id, pkce, startedAt: anyTime })
    await expect(takeAuthorization(deps, id)).rejects.toThrow(error())
  })

  it.each([
    ['none', undefined, stateMissing],
    ['an empty one', '', stateMissing],
    ['one that is no id', 'x', stateInvalid],
    ['an unknown one', randomUUID(), stateUnknown],
  ])('refuses a state: %s', async (_case, state, error) => {
    await expect(takeAuthorization(deps, state)).rejects.toThrow(error())
  })

  it('takes one of two concurrent requests with a state', async () => {
    const id = await begin({ pkce: PKCE })
    const outcomes = await Promise.allSettled([takeAuthorization(deps, id), takeAuthorization(deps, id)])
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([
      { status: 'rejected', reason: stateUsed() },
    ])
  })

  it('refuses a flow from the end of its life on', async () => {
    const [late, inTime] = [await begin(), await begin()]
    clock.advance(deps.config.external.flowStateLifetimeMs - 1)
    expect((await takeAuthorization(deps, inTime)).id).toBe(inTime)
    clock.advance(1)
    await expect(takeAuthorization(deps, late)).rejects.toThrow(stateExpired())
  })

  it('refuses a flow without PKCE that began before PKCE was required', async () => {
    const signup = { ...deps.config.signup, pkce: 'required' as const }
    const strict = { ...deps, config: { ...deps.config, signup } }
    const [implicit, pkce] = [await begin(), await begin({ pkce: PKCE })]
    await expect(takeAuthorization(strict, implicit)).rejects.toThrow(pkceRequired())
    expect((await takeAuthorization(strict, pkce)).id).toBe(pkce)
  })
})

describe('finishAuthorization', () => {
  it('refuses a provider that was switched off since the flow began', async () => {
    const flow = await takeAuthorization(deps, await begin())
    await expect(finishAuthorization(deps, { flow, answer: { code: 'x' }, context: CONTEXT })).rejects.toThrow(
      providerNotSupported({ provider: 'github' }),
    )
  })
})
