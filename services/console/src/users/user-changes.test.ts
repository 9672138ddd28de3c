import { describe, expect, it } from 'vitest'
import { nothingChanged } from '../errors.ts'
import { changeLinks, type GivenFields, isStale, type Viewer } from '../pages/asked-change.ts'
import { userChanges } from './user-changes.ts'
import { ShownUser } from './user-view.ts'

const ID = '7d1f7c7e-6a53-4b51-b1c7-8a2b0a4f8a01'
const PATH = `/operator/users/${ID}`
const NOW = new Date('2026-03-01T12:00:00Z')

function shownUser(user: object, more: object = {}): ShownUser {
  return ShownUser.parse({
    user: { id: ID, role: 'authenticated', email: 'ada@example.com', phone: '36301234567', ...user },
    console_role: null,
    is_protected: false,
    identities: [],
    factors: [{ id: 'f1', factor_type: 'totp', status: 'verified', friendly_name: 'phone' }],
    passkeys: [],
    sessions: [],
    messages: [],
    audit: [],
    why_not: [],
    ...more,
  })
}

const viewer = (role: Viewer['role'], userId = 'another-operator'): Viewer => ({ role, userId, now: NOW })
const offered = (shown: ShownUser, by: Viewer) =>
  changeLinks(userChanges, shown, by).map(({ html }) => /href="\/users\/[^/]+\/([^"]+)"/.exec(html)?.[1])

function changeOf(name: string) {
  const change = userChanges.changes.find((each) => each.name === name)
  if (change === undefined) throw new Error(`there is no change ${name}`)
  return change
}

describe('the buttons of a user', () => {
  it.each<[string, ShownUser, Viewer, readonly string[]]>([
    ['a viewer has none', shownUser({}), viewer('viewer'), []],
    ['support confirms and bans', shownUser({}), viewer('support'), ['confirm-email', 'confirm-phone', 'ban']],
    [
      'support confirms no address that is confirmed',
      shownUser({ email_confirmed_at: '2026-02-01T00:00:00Z' }),
      viewer('support'),
      ['confirm-phone', 'ban'],
    ],
    [
      'support confirms no phone that is missing',
      shownUser({ phone: '' }),
      viewer('support'),
      ['confirm-email', 'ban'],
    ],
    [
      'a ban that lasts is ended',
      shownUser({ phone: '', banned_until: '2026-03-01T12:00:01Z' }),
      viewer('support'),
      ['confirm-email', 'end-ban'],
    ],
    [
      'a ban that ends at this moment can be made again',
      shownUser({ phone: '', banned_until: '2026-03-01T12:00:00Z' }),
      viewer('support'),
      ['confirm-email', 'ban'],
    ],
    [
      'an admin changes too, with what is dangerous last',
      shownUser({ email_confirmed_at: '2026-02-01T00:00:00Z', phone: '' }),
      viewer('admin'),
      ['change', 'console-role', 'ban', 'secure', 'sign-in-link', 'delete'],
    ],
    [
      'an admin neither deletes nor promotes themselves',
      shownUser({ phone: '' }),
      viewer('admin', ID),
      ['confirm-email', 'change', 'ban', 'secure'],
    ],
    ['support acts on no protected user', shownUser({}, { is_protected: true }), viewer('support'), []],
    ['nobody changes a user who is deleted', shownUser({ deleted_at: '2026-02-01T00:00:00Z' }), viewer('admin'), []],
  ])('offers exactly the changes of the rule: %s', (_rule, shown, by, expected) => {
    expect(offered(shown, by)).toEqual(expected)
  })
})

describe('the call of a change', () => {
  it.each<[string, GivenFields, object]>([
    ['confirm-phone', {}, { method: 'POST', path: `${PATH}/confirmation`, body: { kind: 'phone' } }],
    ['ban', { duration: '168h' }, { method: 'PUT', path: `${PATH}/ban`, body: { duration: '168h' } }],
    ['end-ban', {}, { method: 'DELETE', path: `${PATH}/ban` }],
    ['reset-factor', { factor: 'a/b' }, { method: 'DELETE', path: `${PATH}/factors/a%2Fb` }],
    [
      'secure',
      { since: ' 2026-01-02T03:04:05Z ' },
      { method: 'POST', path: `${PATH}/secure`, body: { since: '2026-01-02T03:04:05Z' } },
    ],
    ['console-role', { role: 'support' }, { method: 'PUT', path: `${PATH}/console-role`, body: { role: 'support' } }],
    ['console-role', { role: '' }, { method: 'PUT', path: `${PATH}/console-role`, body: { role: null } }],
    ['delete', { soft: 'true' }, { method: 'DELETE', path: PATH, query: { soft: true } }],
    ['delete', { soft: 'false' }, { method: 'DELETE', path: PATH, query: { soft: false } }],
    ['delete', {}, { method: 'DELETE', path: PATH, query: { soft: true } }],
  ])('is for %s with %j the call of the reference', (name, given, expected) => {
    expect(changeOf(name).call(shownUser({}), given)).toEqual(expected)
  })

  it.each<[string, GivenFields, object]>([
    ['a new email', { email: ' grace@example.com ', phone: '36301234567' }, { email: 'grace@example.com' }],
    ['an email that was removed', { email: '', phone: '36301234567' }, { email: '' }],
    ['a new phone', { email: 'ada@example.com', phone: '36300000000' }, { phone: '36300000000' }],
    [
      'a password as it was typed',
      { email: 'ada@example.com', phone: '36301234567', password: ' p w ' },
      { password: ' p w ' },
    ],
  ])('sends of the form only %s', (_what, given, body) => {
    expect(changeOf('change').call(shownUser({}), given)).toEqual({ method: 'PUT', path: PATH, body })
  })

  it('is not made when nothing was changed in the form', () => {
    const given = { email: ' ada@example.com', phone: '36301234567 ', password: '' }
    expect(changeOf('change').call(shownUser({}), given)).toEqual({ problem: nothingChanged() })
  })

  it.each(['', 'viewer'])(
    'does not restore a role that another operator has removed: the form was left at %j',
    (role) => {
      const given = { former_role: role, role }
      expect(changeOf('console-role').call(shownUser({}, { console_role: 'admin' }), given)).toEqual({
        problem: nothingChanged(),
      })
    },
  )
})

describe('a question that lets a person in', () => {
  it.each([
    [
      'confirm-email',
      [
        'ada@example.com counts as confirmed, as if the user had entered the code of a message.',
        'The person who signed up keeps the password and all other ways to sign in: make sure that the account belongs to that person.',
      ],
    ],
    [
      'console-role',
      [
        'ada@example.com may use this console as the role permits.',
        'So may anyone else who can sign in to the account: make sure that only its owner has set its password.',
        'A change of the role ends all their sessions. Passkeys that these sessions have registered are removed.',
      ],
    ],
  ])('says who else gets in by it: %s', (name, expected) => {
    expect(changeOf(name).consequences(shownUser({}), {})).toEqual(expected)
  })
})

describe('a question that ends sessions', () => {
  const sessions = [{ id: 's1', user_agent: 'Firefox', ip: '192.0.2.1', created_at: '2026-02-01T00:00:00Z' }]

  it.each([
    [
      'end-sessions',
      {},
      [
        'ada@example.com is signed out on every device.',
        'Passkeys that these sessions have registered are removed, because a thief may have made them. This cannot be undone.',
        'The user can sign in again in any other way.',
      ],
    ],
    [
      'end-session',
      { session: 's1' },
      [
        'The user is signed out of Firefox at 192.0.2.1.',
        'Passkeys that this session has registered are removed, because a thief may have made them. This cannot be undone.',
        'The user can sign in again in any other way.',
      ],
    ],
    [
      'secure',
      {},
      [
        'Sessions, passkeys, second factors and recovery codes that were made since this time are removed. Older ones stay.',
        'Changes of address that wait for a code end. ada@example.com can sign in again in any way that stays.',
        'The password, the addresses and the linked identities stay: make sure that they belong to the user.',
        'This cannot be undone.',
      ],
    ],
    [
      'change',
      {},
      [
        'A new address is not confirmed, so the user cannot sign in by it before it is. You can confirm it here.',
        'A new password ends all sessions of the user. Passkeys that these sessions have registered are removed.',
        'Unchanged fields keep their values.',
      ],
    ],
  ])('names the passkeys that go with them: %s', (name, given, expected) => {
    expect(changeOf(name).consequences(shownUser({}, { sessions }), given)).toEqual(expected)
  })
})

describe('a question that names the address of a user', () => {
  const given = { fact_address: 'ada@example.com', fact_email: 'ada@example.com', fact_phone: '36301234567' }

  it.each(['confirm-email', 'console-role', 'sign-in-link'])(
    'is shown again after another change of it: %s',
    (name) => {
      const staleFor = (email: string) => isStale(changeOf(name), shownUser({ email }), given)
      expect([staleFor('ada@example.com'), staleFor('mallory@example.com')]).toEqual([false, true])
    },
  )
})

describe('a question about a part of a user', () => {
  it.each([
    ['f1', true],
    ['f2', false],
    ['', false],
  ])('whether the second factor %j is one of the user is %j', (id, expected) => {
    expect(changeOf('reset-factor').part?.isOf(shownUser({}), id)).toBe(expected)
  })

  it('names the second factor that is removed', () => {
    expect(changeOf('reset-factor').title?.(shownUser({}), { factor: 'f1' })).toBe('Remove the second factor phone')
  })
})

it.each([
  ['true', `/users/${ID}`],
  ['false', '/users'],
])('a deletion that leaves a record (%s) leads to %s', (soft, path) => {
  expect(changeOf('delete').leadsTo?.(shownUser({}), { soft }, undefined)).toBe(path)
})
