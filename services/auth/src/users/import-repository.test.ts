import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { findOwners, insertImportedUsers } from './import-repository.ts'
import { type ImportDefaults, type ImportedUser, readUserLine, toImportedUser } from './imported-user.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterEach(() => database.db.deleteFrom('users').execute())
afterAll(() => database.drop())

const idOf = (place: number) => `00000000-0000-4000-8000-00000000000${place}`
const defaults: ImportDefaults = {
  audience: 'authenticated',
  role: 'authenticated',
  firebase: undefined,
  compatibility: { metadataBytesMax: 8_192 },
  now: new Date('2026-01-02T03:04:05.678Z'),
  generateId: randomUUID,
}
const read = (line: object): ImportedUser => toImportedUser(readUserLine(JSON.stringify(line)).line, defaults)
const insert = (users: readonly ImportedUser[]) =>
  database.db.transaction().execute((trx) => insertImportedUsers(trx, users))
const addPending = (id: string, email: string) =>
  database.db
    .insertInto('users')
    .values({ id, aud: 'authenticated', role: 'authenticated', raw_user_meta_data: {}, staged_at: new Date(), email })
    .execute()

it('finds the users who have an id, an email in any case, a phone or an identity of a file, but no email of SSO', async () => {
  const [known, byEmail, byPhone, sso, pending, stranger] = [1, 2, 3, 4, 5, 6].map(idOf)
  await insert([
    read({ id: known, email: 'known@example.com', identities: [{ provider: 'google', id: '7' }] }),
    read({ id: byEmail, email: 'Ada@example.com', email_confirm: true }),
    read({ id: byPhone, phone: '+1 415 555 0100', phone_confirm: true }),
    read({ id: sso, email: 'sso@example.com', is_sso_user: true }),
    read({ id: stranger, email: 'stranger@example.com' }),
  ])
  await addPending(String(pending), 'staged@example.com')
  const lines = [
    { id: known },
    { email: 'ada@EXAMPLE.com' },
    { phone: '14155550100' },
    { id: sso, email: 'sso@example.com', identities: [] },
    { email: 'staged@example.com' },
    { email: 'new@example.com', identities: [{ provider: 'google', id: '7' }] },
  ]
  expect(await findOwners(database.db, lines.map(read))).toEqual({
    ids: new Map([
      [known, { email: 'known@example.com', phone: null, createdAt: defaults.now }],
      [byEmail, { email: 'ada@example.com', phone: null, createdAt: defaults.now }],
      [byPhone, { email: null, phone: '14155550100', createdAt: defaults.now }],
      [sso, { email: 'sso@example.com', phone: null, createdAt: defaults.now }],
    ]),
    emails: new Map([
      ['known@example.com', { id: known, isConfirmed: false }],
      ['ada@example.com', { id: byEmail, isConfirmed: true }],
    ]),
    phones: new Map([['14155550100', { id: byPhone, isConfirmed: true }]]),
    identities: new Map([['["google","7"]', known]]),
  })
})

it('replaces a pending sign-up that has the same identifier, and no other', async () => {
  await addPending(idOf(1), 'a@example.com')
  await addPending(idOf(2), 'other@example.com')
  await insert([read({ id: idOf(3), email: 'a@example.com', user_metadata: { name: 'Ada' } })])
  const columns = ['id', 'email', 'staged_at', 'raw_user_meta_data'] as const
  expect(await database.db.selectFrom('users').select(columns).orderBy('email').execute()).toEqual([
    { id: idOf(3), email: 'a@example.com', staged_at: null, raw_user_meta_data: { name: 'Ada' } },
    { id: idOf(2), email: 'other@example.com', staged_at: expect.any(String), raw_user_meta_data: {} },
  ])
})

it('inserts nothing where no user is new', async () => {
  await insert([])
  expect(await database.db.selectFrom('users').select('id').execute()).toEqual([])
})
