import { describe, expect, it } from 'vitest'
import type { Identity } from './identity.ts'
import { emailCandidates } from './identity.ts'

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
