import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EnvFile } from './environment.ts'
import { text } from './setting.ts'
import { findContradictions, findRemovedSettings, findUnknownSettings } from './unknown-settings.ts'

const settings = {
  SITE_URL: text(),
  API_PORT: text().meta({ aliases: ['SHOP_PORT', 'PORT'] }),
  TRUSTED_PROXIES: text(),
  EXTERNAL_GITHUB_ENABLED: text(),
}
const find = (env: NodeJS.ProcessEnv, file?: EnvFile) => findUnknownSettings(settings, { prefix: 'SHOP_', env, file })

describe('findUnknownSettings', () => {
  it.each([
    ['SHOP_SITE_ULR', 'SHOP_SITE_URL'],
    ['SHOP_TRUST_PROXY', 'SHOP_TRUSTED_PROXIES'],
    ['SHOP_POTR', 'SHOP_PORT'],
    ['SHOP_EXTERNAL_GITHUB_ENABLE', 'SHOP_EXTERNAL_GITHUB_ENABLED'],
    // Kubernetes sets names with a port number here, so this name is reported.
    ['SHOP_PORT_TCP', 'SHOP_PORT'],
  ])('reports %s with the nearest name %s, without the value', (name, nearest) => {
    expect(find({ [name]: 'hidden' })).toEqual([`unknown setting ${name}, did you mean ${nearest}?`])
  })

  it('suggests no name that is far away', () => {
    expect(find({ SHOP_COLOUR_OF_DOORS: 'red' })).toEqual(['unknown setting SHOP_COLOUR_OF_DOORS'])
  })

  it.each([
    ['what is a setting', { SHOP_SITE_URL: 'x', SHOP_PORT: '1', SHOP_EXTERNAL_GITHUB_ENABLED: 'x' }],
    ['what is empty', { SHOP_SITE_ULR: '' }],
    ['the addresses that `npm start -- status` prints', { SHOP_URL: 'x', SHOP_METRICS_URL: 'x' }],
    ['names of others', { SITE_ULR: 'x', BOOKSHOP_SITE_ULR: 'x', shop_site_ulr: 'x' }],
    [
      'what Kubernetes says of the Services shop and shop-db',
      {
        SHOP_SERVICE_HOST: '10.0.0.1',
        SHOP_SERVICE_PORT: '80',
        SHOP_SERVICE_PORT_HTTP: '80',
        SHOP_PORT: 'tcp://10.0.0.1:80',
        SHOP_PORT_80_TCP: 'tcp://10.0.0.1:80',
        SHOP_PORT_80_TCP_PROTO: 'tcp',
        SHOP_PORT_80_TCP_PORT: '80',
        SHOP_PORT_80_TCP_ADDR: '10.0.0.1',
        SHOP_DB_SERVICE_HOST: '10.0.0.2',
        SHOP_DB_PORT: 'tcp://10.0.0.2:5432',
        SHOP_DB_PORT_5432_TCP_ADDR: '10.0.0.2',
        SHOP_DNS_PORT: 'udp://10.0.0.3:53',
        SHOP_DNS_PORT_53_UDP: 'udp://10.0.0.3:53',
      },
    ],
  ])('leaves out %s', (_case, env) => {
    expect(find(env)).toEqual([])
  })

  it('checks the env file too, and sorts the names', () => {
    const folder = mkdtempSync(join(tmpdir(), 'trestle-unknown-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'shop.env')
    writeFileSync(path, 'SHOP_SITE_URI=hidden\nSHOP_SITE_URL=x\n')
    expect(find({ SHOP_API_POR: '1' }, { path, isRequired: true })).toEqual([
      'unknown setting SHOP_API_POR, did you mean SHOP_API_PORT?',
      'unknown setting SHOP_SITE_URI, did you mean SHOP_SITE_URL?',
    ])
  })
})

const both = (env: NodeJS.ProcessEnv) => ({ prefix: 'SHOP_', otherPrefix: 'STORE_', env })

describe('findUnknownSettings with a second prefix', () => {
  it('reports names with either prefix, each with the nearest name of its own prefix', () => {
    const env = { STORE_SITE_ULR: 'hidden', SHOP_SITE_ULR: 'hidden', STORE_PORT: '1', STORE_API_PORT: '1' }
    expect(findUnknownSettings(settings, both(env))).toEqual([
      'unknown setting SHOP_SITE_ULR, did you mean SHOP_SITE_URL?',
      'unknown setting STORE_SITE_ULR, did you mean STORE_SITE_URL?',
    ])
  })

  it('leaves out names that are expected', () => {
    const options = { ...both({ STORE_OLD: '1' }), isExpected: (name: string) => name === 'STORE_OLD' }
    expect(findUnknownSettings(settings, options)).toEqual([])
  })
})

describe('findContradictions', () => {
  it('reports a setting that has two values under the two prefixes, without the values', () => {
    const env = { SHOP_SITE_URL: 'a', STORE_SITE_URL: 'b', SHOP_PORT: '1', STORE_API_PORT: '2' }
    expect(findContradictions(settings, both(env))).toEqual([
      'STORE_SITE_URL is ignored, because SHOP_SITE_URL has another value',
      'STORE_API_PORT is ignored, because SHOP_PORT has another value',
    ])
  })

  it('accepts the same value under both prefixes', () => {
    expect(findContradictions(settings, both({ SHOP_SITE_URL: 'a', STORE_SITE_URL: 'a', PORT: '1' }))).toEqual([])
  })
})

describe('findRemovedSettings', () => {
  const removed = { COLOUR: 'the shop is blue', NODE_ENV: 'set NODE_ENV' }
  const removedOf = (env: NodeJS.ProcessEnv) => findRemovedSettings(removed, { prefix: 'SHOP_', env })

  it('names each that is set, with the advice and without the value', () => {
    expect(removedOf({ SHOP_COLOUR: 'red', SHOP_NODE_ENV: 'production' })).toEqual([
      'SHOP_COLOUR no longer exists: the shop is blue',
      'SHOP_NODE_ENV no longer exists: set NODE_ENV',
    ])
  })

  it('names settings under the other prefix too', () => {
    const names = { SHOP_COLOUR: 'red', STORE_COLOUR: 'green', STORE_NODE_ENV: 'production' }
    expect(findRemovedSettings(removed, { prefix: 'SHOP_', otherPrefix: 'STORE_', env: names })).toEqual([
      'SHOP_COLOUR no longer exists: the shop is blue',
      'STORE_COLOUR no longer exists: the shop is blue',
      'STORE_NODE_ENV no longer exists: set NODE_ENV',
    ])
  })

  it('leaves out names without the prefix, and empty ones', () => {
    expect(removedOf({ NODE_ENV: 'production', SHOP_COLOUR: '' })).toEqual([])
  })
})
