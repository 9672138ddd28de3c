import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT } from '../../test/sample-context.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { pkceRequired, serviceUnavailable } from '../errors.ts'
import {
  providerNotSupported,
  stateExpired,
  stateInvalid,
  stateMissing,
  stateUnknown,
  stateUsed,
} from '../external-errors.ts'
import { insertAuthorizationFlow, type NewAuthorizationFlow } from '../flows/flow-repository.ts'
import { finishAuthorization } from './finish-authorization.ts'

const { deps, clock, close } = await openTestApp()
afterAll(close)

const PKCE = { codeChallenge: 'x'.repeat(43), codeChallengeMethod: 'plain' } as const
const FLOW = {
  provider: 'github',
  redirectTo: CONTEXT.redirectTo,
  pkce: undefined,
  inviteTokenHash: null,
  linking: null,
  codeVerifier: null,
  requestToken: null,
} as const

/** Begins a flow like `GET /authorize`. */
async function begin(changes: Partial<NewAuthorizationFlow> = {}): Promise<string> {
  const id = randomUUID()
  await insertAuthorizationFlow(deps.db, { ...FLOW, id, at: clock.now(), ...changes })
  return id
}

/** Returns from the provider like `GET /callback`. */
function finish(state: string | undefined, own = deps) {
  return finishAuthorization(own, {
    answer: { state, code: 'x' },
    calledAt: undefined,
    readContext: async () => CONTEXT,
  })
}

/** The outcome of each claimed flow in this file, because the provider has no credentials. */
const TAKEN = {
  verdict: 'failed',
  redirectTo: FLOW.redirectTo,
  thrown: providerNotSupported({ provider: 'github' }),
} as const

describe('finishAuthorization', () => {
  it.each([
    ['an implicit flow, which it deletes', undefined, stateUnknown],
    ['a PKCE flow, which stays for the exchange', PKCE, stateUsed],
  ])('takes %s, once', async (_case, pkce, error) => {
    const id = await begin({ pkce })
    expect(await finish(id)).toEqual(TAKEN)
    await expect(finish(id)).rejects.toThrow(error())
  })

  it.each([
    ['none', undefined, stateMissing],
    ['an empty one', '', stateMissing],
    ['one that is no id', 'x', stateInvalid],
    ['an unknown one', randomUUID(), stateUnknown],
  ])('refuses a state: %s', async (_case, state, error) => {
    await expect(finish(state)).rejects.toThrow(error())
  })

  it('accepts one of two concurrent requests with a state', async () => {
    const id = await begin({ pkce: PKCE })
    const outcomes = await Promise.allSettled([finish(id), finish(id)])
    expect(outcomes.toSorted((a, b) => a.status.localeCompare(b.status))).toEqual([
      { status: 'fulfilled', value: TAKEN },
      { status: 'rejected', reason: stateUsed() },
    ])
  })

  it('refuses a flow from the end of its life on', async () => {
    const [late, inTime] = [await begin(), await begin()]
    clock.advance(deps.config.external.flowStateLifetimeMs - 1)
    expect(await finish(inTime)).toEqual(TAKEN)
    clock.advance(1)
    await expect(finish(late)).rejects.toThrow(stateExpired())
  })

  it('refuses a flow without PKCE that began before PKCE was required', async () => {
    const signup = { ...deps.config.signup, pkce: 'required' as const }
    const strict = { ...deps, config: { ...deps.config, signup } }
    const [implicit, pkce] = [await begin(), await begin({ pkce: PKCE })]
    await expect(finish(implicit, strict)).rejects.toThrow(pkceRequired())
    expect(await finish(pkce, strict)).toEqual(TAKEN)
  })

  it('ends at SITE_URL where the rules do not permit the target of the row, whoever has written it', async () => {
    const siteUrl = deps.config.signup.redirects.siteUrl
    for (const redirectTo of ['https://elsewhere.example/', 'javascript:void 0', ''])
      expect(await finish(await begin({ redirectTo }))).toEqual({ ...TAKEN, redirectTo: siteUrl })
  })

  it('ends at EXTERNAL_REDIRECT_URL, which no list needs to permit', async () => {
    const redirectUrl = 'https://elsewhere.example/'
    const own = { ...deps, config: { ...deps.config, external: { ...deps.config.external, redirectUrl } } }
    expect(await finish(await begin({ redirectTo: redirectUrl }), own)).toEqual({ ...TAKEN, redirectTo: redirectUrl })
  })

  it('does not take a flow that names its user: its provider has answered', async () => {
    const { user } = await createSignedUp(deps)
    for (const pkce of [undefined, PKCE]) {
      const id = await begin({ pkce })
      await deps.db.updateTable('flow_state').set({ user_id: user.id }).where('id', '=', id).execute()
      await expect(finish(id)).rejects.toThrow(stateUnknown())
    }
  })

  it('tells the page that began the flow when its provider was switched off since', async () => {
    expect(await finish(await begin())).toEqual(TAKEN)
  })

  it('passes on an error of reading the context, after it has taken the flow', async () => {
    const id = await begin()
    const readContext = () => Promise.reject(serviceUnavailable())
    const returned = finishAuthorization(deps, { answer: { state: id }, calledAt: undefined, readContext })
    await expect(returned).rejects.toThrow(serviceUnavailable())
    await expect(finish(id)).rejects.toThrow(stateUnknown())
  })
})
