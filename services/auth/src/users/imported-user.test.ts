import { describe, expect, it } from 'vitest'
import { exportedRow } from '../../test/exported-row.ts'
import { type ImportDefaults, readUserLine, toImportedUser } from './imported-user.ts'

const ID = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'
const NEW_ID = '11111111-1111-4111-8111-111111111111'
const now = new Date('2026-01-02T03:04:05.678Z')
const defaults: ImportDefaults = {
  audience: 'authenticated',
  role: 'member',
  firebase: undefined,
  compatibility: { metadataBytesMax: 8_192 },
  now,
  generateId: () => NEW_ID,
}
const BCRYPT = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
const read = (line: unknown) =>
  toImportedUser(readUserLine(typeof line === 'string' ? line : JSON.stringify(line)).line, defaults)

describe('toImportedUser', () => {
  it('gives a user with nothing but an email every other column', () => {
    expect(read({ email: 'Ada@Example.com' })).toEqual({
      row: {
        id: NEW_ID,
        aud: 'authenticated',
        role: 'member',
        email: 'ada@example.com',
        phone: null,
        encrypted_password: null,
        email_confirmed_at: null,
        phone_confirmed_at: null,
        invited_at: null,
        confirmation_sent_at: null,
        recovery_sent_at: null,
        last_sign_in_at: null,
        raw_app_meta_data: { provider: 'email', providers: ['email'] },
        raw_user_meta_data: {},
        banned_until: null,
        is_anonymous: false,
        is_sso_user: false,
        claimed_at: null,
        created_at: now,
        updated_at: now,
      },
      identities: [
        {
          provider: 'email',
          provider_id: NEW_ID,
          identity_data: { sub: NEW_ID, email: 'ada@example.com', email_verified: false, phone_verified: false },
          last_sign_in_at: null,
          created_at: now,
          updated_at: now,
        },
      ],
      hasOwnId: false,
      createdAt: undefined,
      leftOut: [],
    })
  })

  it('claims an account without an address, since no one else can confirm it', () => {
    const github = { provider: 'github', id: '42' }
    const told = { ...github, identity_data: { email: 'ada@example.com' } }
    expect(read({ id: ID, identities: [github] }).row.claimed_at).toBe(now)
    expect(read({ id: ID, identities: [told] }).row.claimed_at).toBeNull()
    expect(read({ id: ID, is_anonymous: true }).row.claimed_at).toBeNull()
  })

  it.each([
    ['nothing of two confirmed ones', { email_confirm: true, phone_confirm: true }, ['a@b.c', '14155550100']],
    ['an email beside a confirmed phone', { phone_confirm: true }, [null, '14155550100']],
    ['a phone beside a confirmed email', { email_confirm: true }, ['a@b.c', null]],
    ['the phone of two unconfirmed ones', {}, ['a@b.c', null]],
    ['nothing of a claimed user', { claimed_at: '2020-01-01T00:00:00Z' }, ['a@b.c', '14155550100']],
  ])('leaves of two addresses out %s, with its identity', (_case, confirmed, [email, phone]) => {
    const line = { id: ID, email: 'a@b.c', phone: '+14155550100', ...confirmed }
    const kept = [...(email ? ['email'] : []), ...(phone ? ['phone'] : [])]
    const identities = ['email', 'phone'].map((provider) => ({ provider }))
    const listed = { app_metadata: { provider: 'email', providers: ['email', 'phone'] } }
    const lines = [line, { ...line, identities }, ...(kept.length === 2 ? [] : [{ ...line, ...listed, identities }])]
    for (const { row, identities: stored } of lines.map(read)) {
      const { providers } = row.raw_app_meta_data ?? {}
      expect([row.email, row.phone, providers]).toEqual([email, phone, kept])
      expect(stored.map(({ provider }) => provider)).toEqual(kept)
    }
  })

  it.each([
    ['of an invitation that nobody has accepted', { invited_at: '2020-01-01T00:00:00Z' }, null, ['password']],
    ['of an accepted invitation', { invited_at: '2020-01-01T00:00:00Z', email_confirm: true }, BCRYPT, []],
    [
      'of an invited user who has claimed the account',
      { invited_at: '2020-01-01T00:00:00Z', claimed_at: '2020-01-01T00:00:00Z' },
      BCRYPT,
      [],
    ],
    ['of an unconfirmed user whom nobody has invited', {}, BCRYPT, []],
  ])('decides on the password %s', (_case, more, password, leftOut) => {
    const user = read({ email: 'a@b.c', password_hash: BCRYPT, ...more })
    expect([user.row.encrypted_password, user.leftOut]).toEqual([password, leftOut])
  })

  it("keeps the given times, and uses the account's time for a confirmation without one", () => {
    const time = '2020-01-01T00:00:00.123456+00:00'
    const user = read({
      id: ID.toUpperCase(),
      aud: 'x',
      role: ' admin ',
      email: 'a@b.c',
      phone: '+1 415 555 0100',
      email_confirm: true,
      phone_confirmed_at: '2021-01-01T00:00:00Z',
      user_metadata: { name: 'Ada' },
      app_metadata: { plan: 'pro', provider: 'phone' },
      banned_until: '2100-01-01T00:00:00+02:00',
      created_at: time,
    })
    expect(user.row).toEqual({
      id: ID,
      aud: 'x',
      role: 'admin',
      email: 'a@b.c',
      phone: '14155550100',
      encrypted_password: null,
      email_confirmed_at: time,
      phone_confirmed_at: '2021-01-01T00:00:00Z',
      invited_at: null,
      confirmation_sent_at: null,
      recovery_sent_at: null,
      last_sign_in_at: null,
      raw_user_meta_data: { name: 'Ada' },
      banned_until: '2100-01-01T00:00:00+02:00',
      is_anonymous: false,
      is_sso_user: false,
      created_at: time,
      updated_at: now,
      raw_app_meta_data: { provider: 'phone', providers: ['email', 'phone'], plan: 'pro' },
      claimed_at: null,
    })
    expect(user.identities.map(({ provider, identity_data }) => [provider, identity_data])).toEqual([
      ['email', { sub: ID, email: 'a@b.c', email_verified: true, phone_verified: false }],
      ['phone', { sub: ID, phone: '14155550100', email_verified: false, phone_verified: true }],
    ])
    expect(user.hasOwnId).toBe(true)
  })

  it('keeps the identities of a row of supabase/auth under the id of each account', () => {
    const row = exportedRow(ID, NEW_ID)
    const { row: stored, identities } = read(row)
    expect(stored).toEqual({
      id: ID,
      aud: 'authenticated',
      role: 'member',
      email: 'a@b.c',
      phone: null,
      encrypted_password: row.encrypted_password,
      email_confirmed_at: null,
      phone_confirmed_at: null,
      invited_at: null,
      confirmation_sent_at: null,
      recovery_sent_at: null,
      last_sign_in_at: null,
      raw_user_meta_data: {},
      banned_until: null,
      is_anonymous: false,
      is_sso_user: false,
      created_at: expect.any(Date),
      updated_at: expect.any(Date),
      raw_app_meta_data: row.raw_app_meta_data,
      claimed_at: null,
    })
    expect(
      identities.map(({ provider, provider_id, identity_data }) => [provider, provider_id, identity_data]),
    ).toEqual([
      ['google', '1', { email: 'A@b.c', sub: '1' }],
      ['github', '2', { sub: '2' }],
      ['email', ID, { sub: ID, email: 'a@b.c', email_verified: false, phone_verified: false }],
    ])
  })

  it('gives the identities of own addresses the addresses of the user, whatever they claim', () => {
    const claims = { email: 'owner@b.c', email_verified: true, phone: '14155550199', phone_verified: true, name: 'Ada' }
    const identities = ['email', 'phone'].map((provider) => ({ provider, identity_data: claims }))
    const dataOf = (line: object) =>
      read({ id: ID, ...line, identities }).identities.map(({ identity_data }) => identity_data)
    expect(dataOf({ email: 'a@b.c', email_confirm: true })).toEqual([
      { sub: ID, name: 'Ada', email: 'a@b.c', email_verified: true, phone_verified: false },
      { sub: ID, name: 'Ada', email_verified: false, phone_verified: false },
    ])
    const claimed_at = '2020-01-01T00:00:00Z'
    expect(dataOf({ email: 'a@b.c', phone: '+14155550100', phone_confirm: true, claimed_at })).toEqual([
      { sub: ID, name: 'Ada', email: 'a@b.c', email_verified: false, phone_verified: false },
      { sub: ID, name: 'Ada', phone: '14155550100', email_verified: false, phone_verified: true },
    ])
  })

  it.each([
    ['the own email', { email: 'A@b.c' }, { email: 'A@b.c', email_verified: true }, true],
    ['the email of somebody else', { email: 'a@b.c' }, { email: 'owner@b.c', email_verified: true }, false],
    [
      'an email where the user has none',
      { phone: '+14155550100' },
      { email: 'owner@b.c', email_verified: true },
      false,
    ],
    ['the own email, unverified', { email: 'a@b.c' }, { email: 'a@b.c', email_verified: false }, false],
    ['no email', { email: 'a@b.c' }, { email_verified: true }, false],
  ])(
    'lets an account at a provider vouch for the own email alone: %s',
    (_case, line, identity_data, email_verified) => {
      const { identities } = read({ id: ID, ...line, identities: [{ provider: 'github', id: '7', identity_data }] })
      expect(identities.map((identity) => identity.identity_data)).toEqual([
        { ...identity_data, email_verified, sub: '7' },
      ])
    },
  )

  it.each([
    ['a text that is none', 'nobody'],
    ['one that is too long', `${'a'.repeat(4_000)}@b.c`],
    ['an object', { a: 'x' }],
    ['null', null],
  ])('leaves an email of an account at a provider out that is %s', (_case, email) => {
    const account = { provider: 'google', provider_id: '7', identity_data: { email, name: 'Ada' } }
    const { identities } = read({ id: ID, email: 'a@b.c', identities: [account] })
    expect(identities.map(({ identity_data }) => identity_data)).toEqual([{ name: 'Ada', sub: '7' }])
  })

  it.each([
    ['', 'needs an id, an email or a phone'],
    ['{}', 'needs an id, an email or a phone'],
    [{ email: 'nobody' }, 'email: Unable to validate email address: invalid format'],
    [{ phone: '0123' }, 'phone: Invalid phone number format (E.164 required)'],
    [{ email: 'a@b.c', user_metadata: { x: 'x'.repeat(65_536) } }, 'may not be larger than 8192 bytes'],
    [{ email: 'a@b.c', user_metadata: { x: '\u0000' } }, 'NUL characters'],
    [
      { email: 'a@b.c', password_hash: `$scrypt$ln=14,r=8,p=1$${'a'.repeat(100)}$${'a'.repeat(160)}` },
      'password_hash is longer than 255 characters',
    ],
    [{ email: 'a@b.c', password_hash: 'hunter2' }, 'password_hash is of an unknown form, damaged, or costs too much'],
    [
      { email: 'a@b.c', password_hash: '$fbscrypt$AAAA$AAAA' },
      'password_hash needs the parameters of its Firebase project',
    ],
    [{ email: 'a@b.c', identities: [{ provider: 'google' }] }, 'google needs the id of the account there'],
    [
      { email: 'a@b.c', identities: [1, 2].map(() => ({ provider: 'google', id: '1' })) },
      'identities: one of them is there twice',
    ],
  ])('refuses %j', (line, reason) => {
    expect(() => read(line)).toThrow(reason)
  })

  it('shows nothing of a refused secret', () => {
    expect(() => read({ email: 'a@b.c', password_hash: 'hunter2' })).toThrow(/^(?!.*hunter2)/)
  })
})
