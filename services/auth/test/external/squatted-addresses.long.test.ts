import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createSecondOwner, createSignedUp } from '../signed-up.ts'
import { type CustomApp, openCustomApp } from './custom-app.ts'

// Tests an attack: a stranger signs up with another person's addresses and confirms none.
let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp({
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  })
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

const PASSWORD = 'the password of a stranger'
const signUp = (email: string) => service.post('/signup', { email, password: PASSWORD })

/** Signs in at GitHub with an account that has verified these addresses. One is the primary address. */
async function signIn(primary: string, emails: readonly string[]) {
  play(primary, emails)
  const { state } = await service.begin('github')
  return (await service.comeBack({ state, code: 'code' })).fragment
}

/** Links that account to an anonymous user. @returns the user id, and the page where the browser ends */
async function linkAnonymous(email: string) {
  play(email, [email])
  const { access_token, user } = (await service.post('/signup', {})).json()
  const url = '/user/identities/authorize?provider=github&skip_http_redirect=true'
  const answer = await service.app.inject({ url, headers: { authorization: `Bearer ${access_token}` } })
  const state = new URL(answer.json().url).searchParams.get('state') ?? ''
  return { id: user.id, landing: (await service.comeBack({ state, code: 'code' })).fragment }
}

function play(primary: string, emails: readonly string[]): void {
  service.answer((call) => {
    if (call === 'POST https://github.com/login/oauth/access_token')
      return { body: { access_token: 'token', token_type: 'bearer' } }
    if (call === 'GET https://api.github.com/user') return { body: { id: 7, login: 'ada', name: 'Ada' } }
    if (call !== 'GET https://api.github.com/user/emails') return undefined
    return { body: emails.map((email) => ({ email, primary: email === primary, verified: true })) }
  })
}

/** Returns the email of the user with the GitHub account, and whether the user has a password. */
async function ownerOf() {
  const query = service.deps.db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'identities.user_id')
    .select(['users.email', 'users.encrypted_password'])
  const rows = await query.where('identities.provider', '=', 'github').where('provider_id', '=', '7').execute()
  return rows.map(({ email, encrypted_password }) => ({ email, hasPassword: encrypted_password !== null }))
}

it.each([
  ['listed first', ['first@example.com', 'second@example.com']],
  ['listed last', ['second@example.com', 'first@example.com']],
])('takes over the sign-up of the primary address, %s, where each address has one', async (_case, emails) => {
  await signUp('second@example.com')
  await signUp('first@example.com')
  expect((await signIn('first@example.com', emails)).access_token).toBeDefined()
  expect(await ownerOf()).toEqual([{ email: 'first@example.com', hasPassword: false }])
})

it('signs a confirmed user in, though the primary address has a sign-up that nobody has confirmed', async () => {
  const { email } = await createSignedUp(service.deps)
  await signUp('primary@example.com')
  expect((await signIn('primary@example.com', ['primary@example.com', email])).access_token).toBeDefined()
  expect(await ownerOf()).toEqual([{ email, hasPassword: true }])
})

it('refuses an account whose addresses two confirmed users have', async () => {
  const [one, two] = [await createSignedUp(service.deps), await createSignedUp(service.deps)]
  expect((await signIn(one.email, [one.email, two.email])).error_code).toBe('email_exists')
  expect(await ownerOf()).toEqual([])
})

it('refuses an account whose address a confirmed user has, and an identity of another user', async () => {
  const { email } = await createSignedUp(service.deps)
  await createSecondOwner(service, email)
  expect((await signIn(email, [email])).error_code).toBe('email_exists')
})

it('links an account whose address a sign-up has, and gives the address to the anonymous user', async () => {
  await signUp('first@example.com')
  const { id, landing } = await linkAnonymous('first@example.com')
  expect(landing.access_token).toBeDefined()
  const rows = await service.deps.db
    .selectFrom('users')
    .select(['id', 'is_anonymous'])
    .where('email', '=', 'first@example.com')
    .execute()
  expect(rows).toEqual([{ id, is_anonymous: false }])
})

it('links no account whose address a confirmed user has to an anonymous user', async () => {
  const { email } = await createSignedUp(service.deps)
  expect((await linkAnonymous(email)).landing.error_code).toBe('email_exists')
  expect(await ownerOf()).toEqual([])
})

// Adopted linking flows have no session, so no session end deletes them.
it('ends the linking flow of a sign-up whose account its owner takes over', async () => {
  await signUp('first@example.com')
  const { db } = service.deps
  const { id } = await db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  const flow = {
    provider_type: 'github',
    authentication_method: 'oauth',
    redirect_to: 'http://localhost:3000',
  } as const
  const created_at = service.clock.now()
  await db
    .insertInto('flow_state')
    .values({ id: randomUUID(), linking_target_id: id, created_at, ...flow })
    .execute()
  expect((await signIn('first@example.com', ['first@example.com'])).access_token).toBeDefined()
  const flows = db.selectFrom('flow_state').select('id').where('linking_target_id', '=', id)
  expect(await flows.execute()).toEqual([])
})
