import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { runUsers } from '../run-users.ts'
import { createSignedUp } from '../signed-up.ts'
import { type CustomApp, oidc, openCustomApp } from './custom-app.ts'

let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp()
  service.play({})
  await service.add(oidc('custom:idp'))
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

/** Imports a user with a GitHub account that claims a verified address. */
const importVouching = (email: string) =>
  runUsers(
    service,
    ['import'],
    `${JSON.stringify({
      email: 'planter@example.com',
      email_confirm: true,
      identities: [
        {
          provider: 'github',
          provider_id: '77',
          identity_data: { email: 'planter@example.com', email_verified: true },
        },
        { provider: 'github', provider_id: '78', identity_data: { email, email_verified: true } },
      ],
    })}\n`,
  )

/** Signs in at a provider with a verified address. @returns the email of the user who then has the identity */
async function signIn(email: string): Promise<string | null | undefined> {
  service.play({ idToken: JSON.stringify({ sub: email, email, email_verified: true }) })
  expect((await service.signIn('custom:idp')).fragment.access_token).toBeDefined()
  const { db } = service.deps
  const query = db.selectFrom('identities').innerJoin('users', 'users.id', 'identities.user_id').select('users.email')
  return (await query.where('identities.provider', '=', 'custom:idp').executeTakeFirst())?.email
}

it('signs a user here in, though an imported account claims the address of that user', async () => {
  const { email } = await createSignedUp(service.deps)
  expect((await importVouching(email)).failure).toBeUndefined()
  expect(await signIn(email)).toBe(email)
})

it('makes a user of an address that only an imported account claims', async () => {
  expect((await importVouching('nobody@example.com')).failure).toBeUndefined()
  expect(await signIn('nobody@example.com')).toBe('nobody@example.com')
})

it('signs an imported user in by the own email, for which the account vouches', async () => {
  await importVouching('nobody@example.com')
  expect(await signIn('planter@example.com')).toBe('planter@example.com')
})
