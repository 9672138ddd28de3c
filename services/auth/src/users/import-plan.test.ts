import { describe, expect, it } from 'vitest'
import { judgeLine, noOwners } from './import-repository.ts'
import { type ImportedUser, toImportedUser } from './imported-user.ts'

let count = 0
const defaults = {
  audience: 'a',
  role: 'r',
  firebase: undefined,
  compatibility: { metadataBytesMax: 8_192 as const },
  now: new Date(0),
  generateId: () => `new-${++count}`,
}
/** Returns a claimed user. Only claimed users keep two unconfirmed addresses. */
const user = (line: Parameters<typeof toImportedUser>[0]): ImportedUser =>
  toImportedUser({ claimed_at: '2020-01-01T00:00:00Z', ...line }, defaults)
const google = (id: string) => [{ provider: 'google', id }]

const ANOTHER_USER = {
  verdict: 'refused',
  reason: 'the id belongs to another user here, with another email, phone, account and time of creation',
}

/**
 * Ann has an id, an email and a phone. Bob has an email and a Google account. Cid has a confirmed email. Dan was created in 2020.
 */
function someOwners() {
  const owners = noOwners()
  judgeLine(owners, user({ id: 'ann', email: 'ann@x.y', phone: '111' }))
  judgeLine(owners, user({ id: 'bob', email: 'bob@x.y', identities: google('1') }))
  judgeLine(owners, user({ id: 'cid', email: 'cid@x.y', email_confirm: true }))
  judgeLine(owners, user({ id: 'dan', email: 'dan@x.y', created_at: '2020-01-01T00:00:00Z' }))
  return owners
}

describe('judgeLine', () => {
  it.each([
    ['somebody new', { email: 'new@x.y' }, { verdict: 'new' }],
    ['somebody new who has nothing but an id', { id: 'new' }, { verdict: 'new' }],
    ['the same id and email', { id: 'ann', email: 'ann@x.y', phone: '222' }, { verdict: 'present' }],
    ['the same id and phone', { id: 'ann', email: 'other@x.y', phone: '111' }, { verdict: 'present' }],
    ['the same id and account', { id: 'bob', email: 'other@x.y', identities: google('1') }, { verdict: 'present' }],
    ['the same id alone', { id: 'ann' }, { verdict: 'present' }],
    [
      'the same id and time of creation, under a new address',
      { id: 'dan', email: 'other@x.y', created_at: '2020-01-01T01:00:00+01:00' },
      { verdict: 'present' },
    ],
    ['the same id under another email', { id: 'ann', email: 'other@x.y' }, ANOTHER_USER],
    ['the same id under the email of somebody else', { id: 'ann', email: 'bob@x.y' }, ANOTHER_USER],
    [
      'the same id, and the own email as an identity of that id',
      { id: 'ann', email: 'other@x.y', identities: [{ provider: 'email', id: 'ann' }] },
      ANOTHER_USER,
    ],
    ['the same id under another account', { id: 'bob', identities: google('2') }, ANOTHER_USER],
    ['the same id and another time of creation', { id: 'dan', created_at: '2020-01-02T00:00:00Z' }, ANOTHER_USER],
    ['the same email without an id', { email: 'ann@x.y' }, { verdict: 'present' }],
    ['the same phone without an id', { phone: '111' }, { verdict: 'present' }],
    ['the same user by email and phone', { email: 'ann@x.y', phone: '111' }, { verdict: 'present' }],
    ['the same email and a new phone', { email: 'ann@x.y', phone: '222' }, { verdict: 'present' }],
    [
      'the email of one and the phone of another',
      { email: 'bob@x.y', phone: '111' },
      { verdict: 'refused', reason: 'the email belongs to another user' },
    ],
    [
      'another id under a known email',
      { id: 'x', email: 'ann@x.y' },
      { verdict: 'refused', reason: 'the email belongs to another user' },
    ],
    [
      'another id under a known phone',
      { id: 'x', phone: '111' },
      { verdict: 'refused', reason: 'the phone belongs to another user' },
    ],
    [
      'an account that is linked already',
      { id: 'x', email: 'new@x.y', identities: google('1') },
      { verdict: 'refused', reason: 'the identity of google belongs to another user' },
    ],
    [
      'an email that is confirmed there, and not confirmed by its owner here',
      { email: 'ann@x.y', email_confirm: true },
      {
        verdict: 'refused',
        reason: 'the email belongs to another user, who has not confirmed it: delete that user first',
      },
    ],
    [
      'a phone that is confirmed there, and not confirmed by its owner here',
      { phone: '111', phone_confirm: true },
      {
        verdict: 'refused',
        reason: 'the phone belongs to another user, who has not confirmed it: delete that user first',
      },
    ],
    ['an email that both have confirmed', { email: 'cid@x.y', email_confirm: true }, { verdict: 'present' }],
    ['an email that only its owner here has confirmed', { email: 'cid@x.y' }, { verdict: 'present' }],
    ['another account there', { email: 'new@x.y', identities: google('2') }, { verdict: 'new' }],
  ])('judges a line with %s', (_case, line, expected) => {
    expect(judgeLine(someOwners(), user(line))).toEqual(expected)
  })

  it('compares the next line with the users of earlier lines', () => {
    const owners = noOwners()
    const verdicts = [{ email: 'a@x.y' }, { email: 'a@x.y' }, { id: 'x', email: 'a@x.y' }, { id: 'x', phone: '11' }]
    expect(verdicts.map((line) => judgeLine(owners, user(line)).verdict)).toEqual(['new', 'present', 'refused', 'new'])
  })
})
