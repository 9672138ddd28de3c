import { describe, expect, it } from 'vitest'
import { loadConsoleConfig } from './config.ts'

const KEY = 'k'.repeat(43)
const NEEDED = {
  CONSOLE_AUTH_URL: 'http://localhost:8081/',
  CONSOLE_AUTH_KEYS: `viewer:${KEY},admin:${KEY}`,
  CONSOLE_SECRET: Buffer.alloc(32, 1).toString('base64'),
}
const load = (changes: Readonly<Record<string, string>>) => loadConsoleConfig({ ...NEEDED, ...changes })

describe('the settings of the console', () => {
  it('ask for a second factor, and name only the services that have an address', () => {
    const { services, mfaRequired, origin, port, warnings } = load({})
    expect({ services, mfaRequired, origin, port, warnings }).toEqual({
      services: {
        auth: {
          url: 'http://localhost:8081',
          keys: new Map([
            ['viewer', KEY],
            ['admin', KEY],
          ]),
        },
      },
      mfaRequired: true,
      origin: 'http://localhost:8084',
      port: 8084,
      warnings: [],
    })
  })

  it.each([
    [{ CONSOLE_BASE_URL: 'http://console.example.com' }, 'CONSOLE_BASE_URL must be https, or name this machine'],
    [{ CONSOLE_PAYMENTS_URL: 'http://localhost:8082' }, 'CONSOLE_PAYMENTS_KEYS is required with CONSOLE_PAYMENTS_URL'],
    [
      { CONSOLE_INVENTORY_URL: 'http://localhost:8080' },
      'CONSOLE_INVENTORY_KEYS is required with CONSOLE_INVENTORY_URL',
    ],
    [
      { CONSOLE_SECRET: 'c2hvcnQ=' },
      'CONSOLE_SECRET must be base64 of at least 32 bytes; several are joined by commas',
    ],
    [
      { CONSOLE_AUTH_KEYS: `viewer:${KEY},viewer:${KEY}` },
      'CONSOLE_AUTH_KEYS must be role:key,… with roles viewer, support and admin, each at most once, and keys of 32 or more characters of base64url',
    ],
  ])('refuse %j, and show no secret', (changes, message) => {
    expect(() => load(changes)).toThrow(message)
  })

  it('warn of a service on another machine that is reached without TLS', () => {
    expect(load({ CONSOLE_AUTH_URL: 'http://auth.example.com' }).warnings).toEqual([
      'CONSOLE_AUTH_URL is http:// and not on this machine: anyone on the network path can read operator keys and access tokens',
    ])
  })
})
