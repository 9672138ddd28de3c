import { describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody, grantErrorBody, outcomeOf, unknownRefreshToken, wrongPassword } from '../../test/bodies.ts'
import { keyOf, OPERATOR_SETTINGS } from '../../test/operators.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { readClientAddress } from './client-address.ts'

const read = (config: Partial<Parameters<typeof readClientAddress>[0]>, headers = {}, ip = '9.9.9.9') =>
  readClientAddress(
    { headers: [], limitsBy: 'nothing', ...config },
    { ip, header: (name) => new Map<string, string>(Object.entries(headers)).get(name) },
  )

describe('readClientAddress', () => {
  it.each([
    ['9.9.9.9', '9.9.9.9'],
    ['::ffff:9.9.9.9', '9.9.9.9'],
    // PostgreSQL rejects an address with a zone.
    ['fe80::2%eth0', 'fe80::2'],
    ['', ''],
  ])('reads %j as %j and ignores the headers', (ip, address) => {
    const headers = { 'auth-forwarded-for': '1.1.1.1', 'sb-forwarded-for': '3.3.3.3', 'x-forwarded-for': '2.2.2.2' }
    expect(read({}, headers, ip)).toEqual({ limitKey: undefined, network: undefined, ip: address })
  })

  it.each([
    [' 1.1.1.1 , 2.2.2.2', '1.1.1.1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['evil, 2.2.2.2', '9.9.9.9'],
    ['', '9.9.9.9'],
  ])(
    'takes the first value of Auth-Forwarded-For, or of Sb-Forwarded-For, when its setting is on: %j',
    (value, address) => {
      for (const header of ['auth-forwarded-for', 'sb-forwarded-for'])
        expect(read({ headers: [header] }, { [header]: value })).toEqual({ ip: address })
    },
  )

  it.each([
    [{ 'auth-forwarded-for': '1.1.1.1', 'sb-forwarded-for': '3.3.3.3' }, '1.1.1.1'],
    [{ 'auth-forwarded-for': 'evil', 'sb-forwarded-for': '3.3.3.3' }, '3.3.3.3'],
    [{ 'sb-forwarded-for': '3.3.3.3' }, '3.3.3.3'],
    [{}, '9.9.9.9'],
  ])('prefers Auth-Forwarded-For to Sb-Forwarded-For, and either to the connection: %j', (headers, address) => {
    expect(read({ headers: ['auth-forwarded-for', 'sb-forwarded-for'] }, headers)).toEqual({ ip: address })
  })

  it.each([
    // The whole header is the key, because clients could have written a part of it.
    ['1.1.1.1, 2.2.2.2', '1.1.1.1, 2.2.2.2'],
    ['1.1.1.1', '1.1.1.1'],
    [' any key ', 'any key'],
    // An IPv6 client has a whole network of addresses.
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    [' ', undefined],
    ['', undefined],
  ])('takes the key of limits from the header that a setting names: %j', (value, limitKey) => {
    const config = { headers: ['auth-forwarded-for'], limitsBy: { header: 'x-real-ip' } }
    const headers = { 'x-real-ip': value, 'auth-forwarded-for': '3.3.3.3' }
    expect(read(config, headers)).toEqual({ limitKey, network: undefined, ip: '3.3.3.3' })
  })

  it('takes the key of limits from the address, or from the network of an IPv6 address', () => {
    expect(read({ limitsBy: 'address' }, {}, '2001:db8:1:2::3')).toEqual({
      limitKey: '2001:db8:1:2::/64',
      network: '2001:db8:1:2::/64',
      ip: '2001:db8:1:2::3',
    })
  })
})

describe('the request limits', () => {
  const RATE = { AUTH_RATE_LIMIT_ANONYMOUS_USERS: '2', AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' }
  const LIMITED = [429, errorBody(429, 'over_request_rate_limit', 'Request rate limit reached')]
  const outcomesOf = async (
    settings: Readonly<Record<string, string>>,
    requests: readonly Record<string, string>[],
  ) => {
    const test = await openTestApp({ settings: { ...RATE, ...settings } })
    const found: unknown[] = []
    for (const headers of requests)
      found.push(outcomeOf(await test.app.inject({ method: 'POST', url: '/signup', payload: {}, headers })))
    await test.close()
    return found
  }
  /** Three requests that differ only in the part of X-Forwarded-For that the client wrote. */
  const spoofed = ['1.1.1.1', '2.2.2.2', '3.3.3.3'].map((own) => ({ 'x-forwarded-for': `${own}, 198.51.100.7` }))

  // ASVS 4.1.3, 15.3.4
  it.each([
    [
      'RATE_LIMIT_HEADER=X-Forwarded-For behind one proxy',
      { AUTH_RATE_LIMIT_HEADER: 'X-Forwarded-For', AUTH_TRUSTED_PROXIES: '1' },
    ],
    ['RATE_LIMIT_HEADER=X-Forwarded-For without trusted proxies', { AUTH_RATE_LIMIT_HEADER: 'X-Forwarded-For' }],
    ['one trusted proxy alone', { AUTH_TRUSTED_PROXIES: '1' }],
    ['headers of proxies that do not send them', { AUTH_SECURITY_SB_FORWARDED_FOR_ENABLED: 'true' }],
    ['no proxy', { AUTH_TRUSTED_PROXIES: '0' }],
  ])('429: cannot be evaded by a forged X-Forwarded-For: %s', async (_case, settings) => {
    expect(await outcomesOf(settings, spoofed)).toEqual([200, 200, LIMITED])
  })

  it('count each client behind a trusted proxy apart', async () => {
    const requests = ['198.51.100.7', '198.51.100.7', '198.51.100.8'].map((ip) => ({ 'x-forwarded-for': ip }))
    expect(await outcomesOf({ AUTH_TRUSTED_PROXIES: '127.0.0.0/8' }, [...requests, ...requests])).toEqual([
      ...[200, 200, 200],
      ...[LIMITED, LIMITED, 200],
    ])
  })

  describe('of a console', () => {
    const keyHeader = { 'x-trestle-operator-key': keyOf('viewer') }
    const addressHeader = (address: string) => ({ 'x-trestle-operator-address': address })
    const named = { ...keyHeader, ...addressHeader('192.0.2.1') }
    const TOO_MANY = [429, grantErrorBody('slow_down', 'over_request_rate_limit', 'Request rate limit reached', 429)]
    const openOperatorApp = (settings = {}) =>
      openTestApp({ settings: { ...OPERATOR_SETTINGS, AUTH_TRUSTED_PROXIES: '0', ...settings } })
    type Test = Awaited<ReturnType<typeof openTestApp>>
    const ask = async ({ app }: Test, url: string, headers: Record<string, string>, payload = {}) =>
      outcomeOf(await app.inject({ method: 'POST', url, payload, headers }))
    const signIn = (test: Test, headers: Record<string, string>) => ask(test, '/token?grant_type=password', headers)
    const refresh = (test: Test) =>
      ask(test, '/token?grant_type=refresh_token', named, { refresh_token: 'aaaaaaaaaaaa' })
    const signInOften = async (test: Test, headers: Record<string, string>) => {
      for (let count = 0; count < 30; count += 1) expect(await signIn(test, headers)).not.toEqual(TOO_MANY)
    }

    it('count the browser that it names beside its key', async () => {
      const test = await openOperatorApp()
      await signInOften(test, named)
      expect(await signIn(test, named)).toEqual(TOO_MANY)
      await signInOften(test, { ...keyHeader, ...addressHeader('192.0.2.2') })
      await test.close()
    })

    it('count no browser that anybody else names', async () => {
      const test = await openOperatorApp()
      await signInOften(test, addressHeader('192.0.2.1'))
      expect(await signIn(test, addressHeader('192.0.2.2'))).toEqual(TOO_MANY)
      await test.close()
    })

    it('count the browser that it names apart from a client at the same address', async () => {
      const test = await openOperatorApp({ AUTH_TRUSTED_PROXIES: '1' })
      await signInOften(test, named)
      expect(await signIn(test, named)).toEqual(TOO_MANY)
      await signInOften(test, { 'x-forwarded-for': '192.0.2.1' })
      await test.close()
    })

    it('count the connection where a mail is asked for, whichever browser it names', async () => {
      const test = await openOperatorApp({ AUTH_RATE_LIMIT_OTP: '30' })
      const recover = (address: string) => ask(test, '/recover', { ...keyHeader, ...addressHeader(address) })
      for (let count = 0; count < 30; count += 1) expect(await recover(`192.0.2.${count}`)).not.toEqual(LIMITED)
      expect(await recover('192.0.2.100')).toEqual(LIMITED)
      await test.close()
    })

    it('count its wrong passwords apart from those of a client at the address that it names', async () => {
      const test = await openOperatorApp({ AUTH_TRUSTED_PROXIES: '1', AUTH_SECURITY_FAILED_ATTEMPTS: '2' })
      const { email, password } = await createSignedUp(test.deps)
      const tryPassword = (typed: string, headers: Record<string, string>) =>
        ask(test, '/token?grant_type=password', headers, { email, password: typed })
      for (let count = 0; count < 2; count += 1) expect(await tryPassword('wrong', named)).toEqual(wrongPassword)
      expect(await tryPassword(password, named)).toEqual(wrongPassword)
      expect(await tryPassword(password, { 'x-forwarded-for': '192.0.2.1' })).toBe(200)
      await test.close()
    })

    it('count no refresh, whatever else comes from the address of its browser', async () => {
      const test = await openOperatorApp()
      await signInOften(test, named)
      expect(await signIn(test, named)).toEqual(TOO_MANY)
      for (let count = 0; count < 31; count += 1) expect(await refresh(test)).toEqual(unknownRefreshToken)
      await test.close()
    })
  })

  it('are off when no setting names the proxies in front', async () => {
    expect(await outcomesOf({}, spoofed)).toEqual([200, 200, 200])
  })
})
