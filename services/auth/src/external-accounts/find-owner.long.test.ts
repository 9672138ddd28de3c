import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerBehind } from '../../test/answer-behind.ts'
import { errorBody, statusAndBody, wrongPassword } from '../../test/bodies.ts'
import {
  type Anybody,
  type AnybodyStub,
  beginLinking,
  comeBackAs,
  landedBody,
  signInAs,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import { createSignedUp } from '../../test/signed-up.ts'

let service: MailApp
let stub: AnybodyStub
beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp({
    ...stub.settings,
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_SMTP_MAX_FREQUENCY: '0',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  })
})
afterAll(async () => {
  await service.close()
  await stub.close()
})

let people = 0
let own: Anybody & { readonly email: string }
beforeEach(() => {
  people += 1
  own = { sub: `1${people}`, email: `racer${people}@example.com`, verified: true }
})

const owners = async (email: string) =>
  (await service.deps.db.selectFrom('users').select('id').where('email', '=', email).execute()).map(({ id }) => id)

const identitiesOf = (subject: string) =>
  service.deps.db
    .selectFrom('identities')
    .select(['provider', 'user_id'])
    .where('provider_id', '=', subject)
    .orderBy('provider')
    .execute()

const ROUNDS = Array.from({ length: 5 }, (_value, round) => round)

describe.each(ROUNDS)('at the same moment, round %i', () => {
  it('parallel sign-ins at one provider create one account', async () => {
    const landings = await Promise.all(Array.from({ length: 8 }, () => signInAs(service, 'keycloak', own)))
    expect(landings.map(({ fragment }) => fragment.error_code)).toEqual(Array(8).fill(undefined))
    const [owner, ...others] = await owners(own.email)
    expect([others, await identitiesOf(own.sub)]).toEqual([[], [{ provider: 'keycloak', user_id: owner }]])
  })

  it('parallel sign-ins at two providers create one account with both identities', async () => {
    const landings = await Promise.all([signInAs(service, 'keycloak', own), signInAs(service, 'gitlab', own)])
    expect(landings.map(({ fragment }) => fragment)).toEqual([landedBody('keycloak'), landedBody('gitlab')])
    const [owner, ...others] = await owners(own.email)
    expect(others).toEqual([])
    expect(await identitiesOf(own.sub)).toEqual([
      { provider: 'gitlab', user_id: owner },
      { provider: 'keycloak', user_id: owner },
    ])
  })

  it("the password of a stranger's parallel signup does not sign in", async () => {
    const password = 'the password of a stranger'
    const [landing] = await Promise.all([
      signInAs(service, 'keycloak', own),
      service.post('/signup', { email: own.email, password }),
      service.post('/signup', { email: own.email, password }),
    ])
    expect(landing.fragment).toEqual(landedBody('keycloak'))
    expect(await owners(own.email)).toHaveLength(1)
    const login = await service.post('/token?grant_type=password', { email: own.email, password })
    expect(statusAndBody(login)).toEqual(wrongPassword)
  })

  it('an unverified identity of a stranger with the same address is not linked', async () => {
    const stranger = { ...own, sub: `2${people}`, verified: false }
    const [landing] = await Promise.all([
      signInAs(service, 'keycloak', own),
      signInAs(service, 'gitlab', stranger),
      signInAs(service, 'gitlab', stranger),
    ])
    expect(landing.fragment).toEqual(landedBody('keycloak'))
    const [owner] = await owners(own.email)
    expect((await identitiesOf(own.sub)).map(({ user_id }) => user_id)).toEqual([owner])
    expect((await identitiesOf(stranger.sub)).map(({ user_id }) => user_id)).not.toContain(owner)
  })

  it('an unverified identity of a stranger is not linked while the owner signs up', async () => {
    const stranger = { ...own, verified: false }
    await Promise.all([
      signInAs(service, 'gitlab', stranger),
      service.post('/signup', { email: own.email, password: 'the password of the owner' }),
      signInAs(service, 'gitlab', stranger),
    ])
    const [owner, ...others] = await owners(own.email)
    const [identity] = await identitiesOf(stranger.sub)
    expect([others, identity?.provider, identity?.user_id === owner]).toEqual([[], 'gitlab', false])
  })

  it('an identity belongs to one account when two users link it while its owner signs in', async () => {
    const [first, second] = [await createSignedIn(service), await createSignedIn(service)]
    const states = await Promise.all([first, second].map(({ headers }) => beginLinking(service, 'keycloak', headers)))
    await Promise.all([...states.map((state) => comeBackAs(service, state, own)), signInAs(service, 'keycloak', own)])
    expect(await identitiesOf(own.sub)).toHaveLength(1)
  })

  it('a session that ends meanwhile links nothing', async () => {
    const { headers, user, sessionId } = await createSignedIn(service)
    const { db } = service.deps
    const answer = await answerBehind(
      db,
      async (trx) => {
        // All code that ends sessions locks the row of the user first.
        await trx.selectFrom('users').select('id').where('id', '=', user.id).forUpdate().execute()
        await trx.deleteFrom('sessions').where('id', '=', sessionId).execute()
      },
      () => service.app.inject({ url: '/user/identities/authorize?provider=keycloak', headers }),
    )
    expect(statusAndBody(answer)).toEqual([
      403,
      errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist'),
    ])
  })
})

it('signs nobody in by an account whose user SQL has marked as deleted', async () => {
  await signInAs(service, 'keycloak', own)
  const { db } = service.deps
  await db.updateTable('users').set({ deleted_at: new Date() }).where('email', '=', own.email).execute()
  const readRow = () => db.selectFrom('users').selectAll().where('email', '=', own.email).execute()
  const before = [await readRow(), await identitiesOf(own.sub)]
  expect((await signInAs(service, 'keycloak', own)).fragment).toEqual({
    error: 'server_error',
    error_code: 'user_not_found',
    error_description: 'User not found',
    sb: '',
  })
  expect([await readRow(), await identitiesOf(own.sub)]).toEqual(before)
})

/** Signs in with a verified address. @returns the id of the user who then owns the identity */
async function signedInUser(account: Anybody): Promise<string | undefined> {
  expect((await signInAs(service, 'keycloak', account)).fragment).toEqual(landedBody('keycloak'))
  return (await identitiesOf(account.sub))[0]?.user_id
}

it.each([
  ['another', { email: 'moved-by-sql@example.com' }],
  ['none', { email: null, phone: '14155550191', phone_confirmed_at: new Date('2026-01-01') }],
])('signs the holder of an earlier address in as somebody else, once SQL has given the user %s', async (_, change) => {
  const { user, email } = await createSignedUp(service.deps)
  await service.deps.db.updateTable('users').set(change).where('id', '=', user.id).execute()
  expect(await signedInUser({ ...own, email })).not.toBe(user.id)
})

it.each(['email', 'phone'])('makes nobody the owner of an address by a planted identity of %s', async (provider) => {
  const { user } = await createSignedUp(service.deps)
  const { db } = service.deps
  await db.deleteFrom('identities').where('user_id', '=', user.id).execute()
  const identity_data = { email: own.email, email_verified: true }
  await db
    .insertInto('identities')
    .values({ user_id: user.id, provider, provider_id: user.id, identity_data })
    .execute()
  expect(await signedInUser(own)).not.toBe(user.id)
})

it('signs in the user whose present address SQL has written', async () => {
  const { user } = await createSignedUp(service.deps)
  await service.deps.db.updateTable('users').set({ email: own.email }).where('id', '=', user.id).execute()
  expect(await signedInUser(own)).toBe(user.id)
})
