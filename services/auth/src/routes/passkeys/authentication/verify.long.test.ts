import { createAuthenticator, type Misbehaviour } from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../../../../test/authenticator-app.ts'
import {
  amrEntry,
  answersByStatus,
  anyTime,
  claimsBody,
  errorBody,
  sessionBody,
  signedUpBody,
  statusAndBody,
} from '../../../../test/bodies.ts'
import { failures, openPasskeyApp, type PasskeyApp, paths } from '../../../../test/passkey-app.ts'

let test: PasskeyApp
beforeAll(async () => {
  test = await openPasskeyApp()
})
afterAll(() => test.close())

const refused = errorBody(...failures.refused)

describe('POST /passkeys/authentication/verify', () => {
  it('200: signs in the owner of the passkey', async () => {
    const { key, user, email, passkeyId, headers } = await test.createWithPasskey()
    const answer = await test.signInBy(key)
    expect([answer.statusCode, answer.json()]).toEqual([200, sessionBody(signedUpBody({ user, email }))])
    expect(claimsOf(answer.json().access_token)).toEqual(
      claimsBody({ sub: user.id, email, user_metadata: { name: 'Ann' }, amr: [amrEntry('passkey')] }),
    )
    expect(answer.headers['cache-control']).toBe('no-store')
    expect((await test.app.inject({ url: '/passkeys', headers })).json()).toEqual([
      { id: passkeyId, friendly_name: 'Passkey', created_at: anyTime, last_used_at: anyTime },
    ])
    const query = test.deps.db.selectFrom('audit_log_entries').select('payload').where('actor_id', '=', user.id)
    expect((await query.execute()).map(({ payload }) => payload.traits)).toContainEqual({ provider: 'passkey' })
  })

  it.each<[string, Misbehaviour]>([
    ['another challenge', { challenge: 'AAAA' }],
    ['nobody as its owner', { userHandle: '' }],
    ['somebody else as its owner', { userHandle: 'AAAAAAAAQACAAAAAAAAAAA' }],
  ])('400: refuses %s', async (_, wrong) => {
    const { key } = await test.createWithPasskey()
    const answer = await test.signInBy(key, wrong)
    expect([answer.statusCode, answer.json()]).toEqual([400, refused])
  })

  it('400: refuses an old counter, an unknown passkey and a deleted passkey', async () => {
    const { key, passkeyId, headers, user, email } = await test.createWithPasskey()
    expect(statusAndBody(await test.signInBy(key))).toEqual([200, sessionBody(signedUpBody({ user, email }))])
    expect(statusAndBody(await test.signInBy(key, { counter: 1 }))).toEqual([400, refused])
    const stranger = createAuthenticator()
    stranger.create({ challenge: 'AAAA', rp: { id: 'app.example.com' } })
    expect(statusAndBody(await test.signInBy(stranger))).toEqual([400, refused])
    await test.app.inject({ method: 'DELETE', url: `/passkeys/${passkeyId}`, headers })
    expect(statusAndBody(await test.signInBy(key))).toEqual([400, refused])
  })

  it('400: records a refused answer of a passkey of a user, and of nobody', async () => {
    const { key, user, email } = await test.createWithPasskey()
    const stranger = createAuthenticator()
    stranger.create({ challenge: 'AAAA', rp: { id: 'app.example.com' } })
    await test.deps.db.deleteFrom('audit_log_entries').execute()
    const answers = [
      await test.signInBy(key, { challenge: 'AAAA' }),
      await test.signInBy(key),
      await test.signInBy(key, { counter: 1 }),
      await test.signInBy(stranger),
    ]
    const signedIn = sessionBody(signedUpBody({ user, email }))
    expect(answers.map(statusAndBody)).toEqual([
      [400, refused],
      [200, signedIn],
      [400, refused],
      [400, refused],
    ])
    const query = test.deps.db.selectFrom('audit_log_entries').select(['action', 'actor_id', 'payload'])
    const entries = (await query.orderBy('created_at').orderBy('id').execute()).map(
      ({ action, actor_id: actor, payload }) => [action, actor, payload.traits],
    )
    const traits = { provider: 'passkey' }
    expect(entries.toSorted()).toEqual(
      [
        ['login', user.id, traits],
        ['login_failed', user.id, traits],
        ['login_failed', user.id, traits],
        ['login_failed', null, traits],
      ].toSorted(),
    )
  })

  it('400: accepts one of many parallel answers with the same counter, since the others come from a copy', async () => {
    const { key, user, email } = await test.createWithPasskey()
    const asked = await Promise.all(Array.from({ length: 10 }, test.ask))
    const answers = await Promise.all(
      asked.map(({ challenge_id, options }) =>
        test.post(paths.signInFinish, { challenge_id, credential: key.get(options, { counter: 7 }) }),
      ),
    )
    const signedIn = sessionBody(signedUpBody({ user, email }))
    expect(answersByStatus(answers)).toEqual([[200, signedIn], ...Array(9).fill([400, refused])])
  })

  it('200: accepts an authenticator whose counter stays 0', async () => {
    const { key, user, email } = await test.createWithPasskey()
    const body = sessionBody(signedUpBody({ user, email }))
    for (const counter of [0, 0]) expect(statusAndBody(await test.signInBy(key, { counter }))).toEqual([200, body])
  })

  it('400: refuses a used challenge, an expired challenge and that of a registration', async () => {
    const { key, headers, user, email } = await test.createWithPasskey()
    const { challenge_id, options } = await test.ask()
    const payload = { challenge_id, credential: key.get(options) }
    const answers = await Promise.all(Array.from({ length: 5 }, () => test.post(paths.signInFinish, payload)))
    expect(answersByStatus(answers)).toEqual([
      [200, sessionBody(signedUpBody({ user, email }))],
      ...Array(4).fill([400, errorBody(...failures.challengeNotFound)]),
    ])
    const own = await test.start(headers)
    const crossed = { challenge_id: own.challenge_id, credential: key.get(own.options) }
    await test.fail({ method: 'POST', url: paths.signInFinish, payload: crossed }, failures.challengeNotFound)
    const late = await test.ask()
    test.clock.advance(300_000)
    const expired = { challenge_id: late.challenge_id, credential: key.get(late.options) }
    expect(statusAndBody(await test.post(paths.signInFinish, expired))).toEqual([400, errorBody(...failures.expired)])
  })

  it('403: refuses a banned user', async () => {
    const { key, user } = await test.createWithPasskey()
    const banned_until = new Date('2100-01-01')
    await test.deps.db.updateTable('users').set({ banned_until }).where('id', '=', user.id).execute()
    expect(statusAndBody(await test.signInBy(key))).toEqual([403, errorBody(403, 'user_banned', 'User is banned')])
  })
})
