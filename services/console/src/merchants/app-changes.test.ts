import { describe, expect, it } from 'vitest'
import { appChanges, type KnownApp } from './app-changes.ts'

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
