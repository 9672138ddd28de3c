import { describe, expect, it } from 'vitest'
import { plainText } from '../../test/browser.ts'
import { type AppsView, appChanges, appsPage, type KnownApp } from './app-list.ts'

const CREATED = '2026-03-01T12:00:00.000Z'
const good = { keyHint: 'abcd', created: CREATED, lastUsed: '2026-03-02T08:30:00.000Z' }
const revoked = { keyHint: 'efgh', created: CREATED, revoked: CREATED }
const viewer = { userId: 'ada', now: new Date(CREATED) }

function pageOf(keys: ReturnType<typeof AppsView.parse>['apps'][number]['keys'], role: 'viewer' | 'admin') {
  const apps = [{ id: 'a1', name: 'Till', created: CREATED, keys }]
  const { main } = appsPage({}, { value: { apps }, next: undefined, etag: undefined }, { ...viewer, role })
  return main.html
}

describe('the list of apps', () => {
  it('shows each key by its end, with its state and its last use', () => {
    expect(plainText(pageOf([good, revoked], 'viewer'))).toBe(
      'Apps Name, id, or last 4 of a key Filter App Id Keys Created ↓ Till a1 …abcd Good used 2026-03-02 08:30 UTC …efgh Revoked never used 2026-03-01 12:00 UTC',
    )
  })

  it.each([
    ['has a good key', [good, revoked], 'admin', true],
    ['has revoked keys alone', [revoked], 'admin', false],
    ['has no key', [], 'admin', false],
    ['may not be changed by the role', [good], 'viewer', false],
  ] as const)('offers to revoke the keys where there is one to revoke: an app that %s', (_app, keys, role, offered) => {
    expect(pageOf([...keys], role).includes('href="/apps/a1/keys" data-ask')).toBe(offered)
  })

  it.each([
    [undefined, 'No app is registered yet.'],
    ['nobody', 'No app matches. Clear the filters'],
  ])('says why it is empty, when the search is for %s', (search, text) => {
    const { main } = appsPage(
      { search },
      { value: { apps: [] }, next: undefined, etag: undefined },
      { ...viewer, role: 'admin' },
    )
    expect(plainText(main.html)).toBe(`Apps Name, id, or last 4 of a key Filter ${text}`)
  })
})

const APP = { id: 'a/1', name: 'Till' }
const MERCHANT = { id: 'm 1', name: 'Nordhavn Coffee' }
const revocation = appChanges.changes.find(({ name }) => name === 'keys')

describe('an app', () => {
  it.each<[string, KnownApp, string, string]>([
    ['among all apps', { app: APP }, '/apps/a%2F1', '/apps'],
    ['of a merchant', { app: APP, merchant: MERCHANT }, '/merchants/m%201/apps/a%2F1', '/merchants/m%201'],
  ])('%s has its questions below it, and leads back to the page that shows it', (_where, shown, path, page) => {
    expect([appChanges.pathOf(shown), appChanges.shownAt?.(shown)]).toEqual([path, page])
  })
})

describe('the question before keys are revoked', () => {
  const NEED = 'fail until it has a new key.'
  it.each<[string, KnownApp, string, string]>([
    ['all apps', { app: APP }, 'Till', `Payments through this app ${NEED}`],
    ['a merchant', { app: APP, merchant: MERCHANT }, 'Till', `Payments of Nordhavn Coffee through this app ${NEED}`],
    [
      'a merchant and an app without names',
      { app: { id: 'a1', name: undefined }, merchant: { id: 'm1', name: undefined } },
      'a1',
      `Payments of m1 through this app ${NEED}`,
    ],
  ])('says whose payments fail, on the page of %s', (_where, shown, name, payments) => {
    expect([revocation?.title?.(shown, {}), revocation?.consequences(shown, {})]).toEqual([
      `Revoke all keys of ${name}`,
      [
        `Every API key of ${name} stops working at once, for all merchants that the app serves.`,
        payments,
        'This cannot be undone.',
      ],
    ])
  })

  it('calls the app itself, whichever merchant its page belongs to', () => {
    for (const shown of [{ app: APP }, { app: APP, merchant: MERCHANT }]) {
      expect(revocation?.call(shown, {})).toEqual({ method: 'DELETE', path: '/operator/apps/a%2F1/keys' })
    }
  })
})
