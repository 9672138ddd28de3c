import { describe, expect, it } from 'vitest'
import type { ExternalProfile } from '../external-providers/provider.ts'
import { github } from '../external-providers/providers/github.ts'
import { emailCandidates, type Identity, toExternalAccount, trustedEmails } from './identity.ts'

const identity = (
  provider: string,
  email: string | null,
  claims: { readonly email_verified?: boolean } = {},
): Identity => ({
  id: provider,
  userId: 'user',
  provider,
  providerId: provider,
  data: { email, ...claims },
  email,
  lastSignInAt: null,
  createdAt: '2026-01-02T03:04:05.123456+00:00',
  updatedAt: '2026-01-02T03:04:05.123456+00:00',
})

describe('emailCandidates', () => {
  it.each([
    ['nothing for who has no email', null, [identity('github', 'a@b.c')], undefined],
    ['nothing while another identity has it', 'a@b.c', [identity('github', 'a@b.c')], undefined],
    ['nobody who has none', 'a@b.c', [identity('phone', null), identity('x', '')], []],
    [
      'nothing while the email identity is there, with an older address',
      'a@b.c',
      [identity('email', 'old@b.c')],
      undefined,
    ],
    [
      'nobody by an address that a phone identity holds',
      'a@b.c',
      [identity('phone', 'a@b.c'), identity('x', null)],
      [],
    ],
    [
      'whoever has one, oldest first',
      'a@b.c',
      [
        identity('old', 'o@b.c', { email_verified: false }),
        identity('odd', 'p@b.c'),
        identity('new', 'n@b.c', { email_verified: true }),
        identity('newer', 'm@b.c', { email_verified: true }),
      ],
      ['old', 'odd', 'new', 'newer'],
    ],
  ])('offers %s', (...[, email, identities, providers]) => {
    expect(emailCandidates(email, identities)?.map(({ provider }) => provider)).toEqual(providers)
  })
})

const provider = github({ clientId: 'id', secret: 'secret', redirectUri: 'https://auth.example.com', baseUrl: '' })
const configured = { name: 'github', provider, emailOptional: false }
const read = (profile: Partial<ExternalProfile>, security = { assumesVerified: true }) =>
  toExternalAccount(
    configured,
    { subject: '7', emails: [], ...profile },
    { security, compatibility: { showEmptyCustomClaims: false } },
  )
const ADA = { email: 'ada@example.com', isVerified: true, isPrimary: false }
const EVE = { email: 'eve@example.com', isVerified: false, isPrimary: false }

describe('an account at a provider', () => {
  it.each([
    ['none', ''],
    ['one of 513 characters', 'x'.repeat(513)],
    ['one with a NUL', 'a\0'],
    ['one with half a character', '\ud800'],
  ])('needs a subject that can be stored: %s', (_name, subject) => {
    expect(() => read({ subject })).toThrow('the provider does not say who has signed in')
  })

  it('has every usable address in lower case, and the last counts unless one is primary', () => {
    const emails = [{ ...ADA, email: 'Ada@Example.com' }, { ...EVE, email: 'no address' }, EVE]
    const listed = [
      { email: 'ada@example.com', isVerified: true },
      { email: 'eve@example.com', isVerified: false },
    ]
    const own = { iss: provider.issuer, sub: '7', provider_id: '7', phone_verified: false }
    const account = { provider: 'github', subject: '7', emails: listed, emailOptional: false }
    expect(read({ emails })).toEqual({
      ...account,
      email: listed[1],
      data: { ...own, email: 'eve@example.com', email_verified: false },
    })
    expect(read({ emails: [{ ...ADA, isPrimary: true }, EVE] })).toEqual({
      ...account,
      email: listed[0],
      data: { ...own, email: 'ada@example.com', email_verified: true },
    })
    expect(read({ emails: [{ ...ADA, email: '\u212Aate@example.com' }] })).toEqual({
      ...account,
      emails: [],
      email: undefined,
      data: own,
    })
  })

  it.each([
    [true, true, true],
    [true, false, true],
    [false, true, false],
    [false, false, true],
  ])(
    'with assumesVerified %s and a verification that is assumed (%s) is verified: %s',
    (assumesVerified, isAssumed, verified) => {
      expect(read({ emails: [{ ...ADA, isAssumed }] }, { assumesVerified }).email?.isVerified).toBe(verified)
    },
  )

  it('is matched with users by verified addresses, or by all, the one that counts first', () => {
    const account = read({ emails: [EVE, ADA] })
    expect(trustedEmails(account, 'verified')).toEqual([ADA.email])
    expect(trustedEmails(account, 'all')).toEqual([ADA.email, EVE.email])
  })

  it('keeps only claims that have a value and can be stored', () => {
    const { data } = read({
      name: 'Ada\0 \ud800',
      picture: '',
      emails: [ADA],
      customClaims: { group: null, team: 'a\0' },
    })
    expect(data).toEqual({
      iss: provider.issuer,
      sub: '7',
      provider_id: '7',
      name: 'Ada \ufffd',
      full_name: 'Ada \ufffd',
      email: 'ada@example.com',
      email_verified: true,
      phone_verified: false,
      custom_claims: { team: 'a' },
    })
  })
})
