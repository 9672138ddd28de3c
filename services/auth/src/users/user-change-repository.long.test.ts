import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Anybody, type AnybodyStub, signInAs, startAnybodyProvider } from '../../test/external/anybody-provider.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'

let service: MailApp
let stub: AnybodyStub
beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp(stub.settings)
})
afterAll(async () => {
  await service.close()
  await stub.close()
})

let people = 0
let own: Anybody & { readonly email: string }
beforeEach(() => {
  people += 1
  own = {
    sub: `1${people}`,
    email: `nora${people}@example.com`,
    verified: true,
    name: 'Nora',
    picture: 'https://a.example/1',
  }
})

/** The provider account after its owner has changed the name and picture. */
const renamed = (): Anybody => ({ ...own, name: 'Eleonora', picture: 'https://a.example/2' })

async function signIn(account: Anybody) {
  const { fragment } = await signInAs(service, 'gitlab', account)
  const headers = { authorization: `Bearer ${fragment.access_token}` }
  const { id, user_metadata, identities } = (await service.app.inject({ url: '/user', headers })).json()
  const { name, full_name, picture, avatar_url } = user_metadata
  return { id, headers, identities, shown: { name, full_name, picture, avatar_url } }
}

const put = (url: string, headers: Readonly<Record<string, string>>, payload: object) =>
  service.app.inject({ method: 'PUT', url, headers, payload })

it('keeps the keys that the user has written, and refreshes the others', async () => {
  const { headers } = await signIn(own)
  const data = { full_name: 'Nora B.', avatar_url: 'https://b.example/own' }
  expect((await put('/user', headers, { data })).statusCode).toBe(200)
  const { shown, identities } = await signIn(renamed())
  expect(shown).toEqual({ ...data, name: 'Eleonora', picture: 'https://a.example/2' })
  expect(identities[0].identity_data.full_name).toBe('Eleonora')
})

it('keeps keys of several changes, and a value that equals that of the provider', async () => {
  const { headers } = await signIn(own)
  for (const data of [{ full_name: 'Nora' }, { hobby: 'chess' }, { picture: 'https://b.example/own' }])
    expect((await put('/user', headers, { data })).statusCode).toBe(200)
  expect((await signIn(renamed())).shown).toEqual({
    name: 'Eleonora',
    full_name: 'Nora',
    picture: 'https://b.example/own',
    avatar_url: 'https://a.example/2',
  })
})

it('does not bring back a key that the user has deleted', async () => {
  const { headers } = await signIn(own)
  expect((await put('/user', headers, { data: { picture: null, avatar_url: null } })).statusCode).toBe(200)
  expect((await signIn(renamed())).shown).toEqual({ name: 'Eleonora', full_name: 'Eleonora' })
})

it('keeps the keys that an admin has written', async () => {
  const { id } = await signIn(own)
  const payload = { user_metadata: { name: 'N. Admin' }, app_metadata: { picture: 'no key of user_metadata' } }
  expect((await put(`/admin/users/${id}`, OPERATOR, payload)).statusCode).toBe(200)
  expect((await signIn(renamed())).shown).toEqual({
    name: 'N. Admin',
    full_name: 'Eleonora',
    picture: 'https://a.example/2',
    avatar_url: 'https://a.example/2',
  })
})

it('keeps the keys with which an admin has created the user', async () => {
  const { email } = own
  const payload = { email, email_confirm: true, user_metadata: { full_name: 'Nora of Sales' } }
  const created = await service.app.inject({ method: 'POST', url: '/admin/users', headers: OPERATOR, payload })
  expect(created.statusCode).toBe(200)
  const first = await signIn(own)
  expect([first.id, first.shown.full_name]).toEqual([created.json().id, 'Nora of Sales'])
  expect((await signIn(renamed())).shown.full_name).toBe('Nora of Sales')
})

it('forgets the names with the metadata of an account that its owner takes over', async () => {
  const { email } = own
  const signedUp = await service.post('/signup', { email, password: 'the password of a stranger' })
  const { id } = signedUp.json()
  expect((await put(`/admin/users/${id}`, OPERATOR, { user_metadata: { name: 'Somebody' } })).statusCode).toBe(200)
  const taken = await signIn(own)
  expect([taken.id, taken.shown.name]).toEqual([id, 'Nora'])
})

it('keeps the keys of an invitation that its user accepts by a sign-in', async () => {
  const { email } = own
  const invited = await service.post('/invite', { email, data: { name: 'Nora of Sales' } }, OPERATOR)
  expect(invited.statusCode).toBe(200)
  const accepted = await signIn(own)
  expect([accepted.id, accepted.shown.name, accepted.shown.full_name]).toEqual([
    invited.json().id,
    'Nora of Sales',
    'Nora',
  ])
  expect((await signIn(renamed())).shown.name).toBe('Nora of Sales')
})
