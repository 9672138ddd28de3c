import { describe, expect, it } from 'vitest'
import { plainText } from '../../test/browser.ts'
import { type AppsView, appsPage } from './app-list.ts'

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
