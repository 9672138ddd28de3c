import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedBody } from '../../test/bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../../test/inventory-app.ts'
import { operatorHeaders, testOperators } from '../../test/operators.ts'

const [ONE, TWO] = ['198.51.100.1', '198.51.100.2']
const LIMIT = { INVENTORY_RATE_LIMIT: '3', INVENTORY_RATE_LIMIT_STORE: 'postgres' }
let inventory: TestInventory
let other: TestReplica
let alone: TestReplica
beforeAll(async () => {
  inventory = await startInventory(LIMIT)
  other = await startReplica(inventory.databaseUrl, LIMIT)
  alone = await startReplica(inventory.databaseUrl, { INVENTORY_RATE_LIMIT: '2', INVENTORY_TRUSTED_PROXIES: '1' })
})
afterAll(async () => {
  await Promise.all([other?.close(), alone?.close()])
  await inventory.close()
})

const startConsole = async () => {
  const console = await startReplica(inventory.databaseUrl, { INVENTORY_RATE_LIMIT: '2' }, { operators: testOperators })
  return { ...console, [Symbol.asyncDispose]: () => console.close() }
}
const get = ({ app }: TestReplica, remoteAddress: string, headers = {}) =>
  app.inject({ url: '/users/1', remoteAddress, headers })
/** Returns 200 or the complete refusal. */
const outcomeOf = async (answer: ReturnType<typeof get>) => {
  const { statusCode, json } = await answer
  return statusCode === 200 ? 200 : json()
}
const outcomesOf = async (replica: TestReplica, address: string, times: number) => {
  const outcomes: unknown[] = []
  for (let n = 0; n < times; n++) outcomes.push(await outcomeOf(get(replica, address)))
  return outcomes
}
const UNAUTHORIZED = 'The operator key or the access token is missing, malformed or not good.'
const LIMITED = refusedBody(429, 'TOO_MANY_REQUESTS', 'Too many requests came from this address.')

describe('INVENTORY_RATE_LIMIT', () => {
  // ASVS 2.4.1
  it('429: counts over all processes, and says how long to wait', async () => {
    expect(await outcomesOf(inventory, '192.0.2.1', 2)).toEqual([200, 200])
    expect(await outcomesOf(other, '192.0.2.1', 2)).toEqual([200, LIMITED])
    const refused = await get(inventory, '192.0.2.1')
    expect(refused.json()).toEqual(LIMITED)
    expect(Number(refused.headers['retry-after'])).toSatisfy((seconds: number) => seconds >= 1 && seconds <= 60)
  })

  it('counts each address by itself, failed requests too', async () => {
    expect(await outcomesOf(inventory, '192.0.2.2', 2)).toEqual([200, 200])
    const broken = { method: 'POST', url: '/products', remoteAddress: '192.0.2.2', payload: '{' } as const
    const unread =
      'The body must be application/json or application/x-www-form-urlencoded, in UTF-8 and without Content-Encoding.'
    expect((await inventory.app.inject(broken)).json()).toEqual(refusedBody(415, 'UNSUPPORTED_MEDIA_TYPE', unread))
    expect(await outcomesOf(inventory, '192.0.2.2', 1)).toEqual([LIMITED])
    expect(await outcomesOf(inventory, '192.0.2.3', 1)).toEqual([200])
  })

  it('counts in memory, by the address that the proxy forwards', async () => {
    const ask = (address: string) => outcomeOf(get(alone, '192.0.2.4', { 'x-forwarded-for': `192.0.2.99, ${address}` }))
    expect([await ask(ONE), await ask(ONE), await ask(ONE), await ask(TWO)]).toEqual([200, 200, LIMITED, 200])
  })

  it('counts an IPv6 client by its network, because it can take any address of that', async () => {
    const ask = (address: string) => outcomeOf(get(alone, '192.0.2.5', { 'x-forwarded-for': `[${address}]:443` }))
    const outcomes = [await ask('2001:db8::1'), await ask('2001:db8::2'), await ask('2001:db8::3')]
    expect([...outcomes, await ask('2001:db8:0:1::1')]).toEqual([200, 200, LIMITED, 200])
  })

  it.each(['/products', '/operator/low-stock'])(
    'counts an operator of %s by themselves, and not by the address of a client that they name',
    async (url) => {
      await using console = await startConsole()
      const ask = async (role: OperatorRole, address: string) => {
        const headers = { ...operatorHeaders(role), 'x-trestle-operator-address': address }
        const { statusCode, json } = await console.app.inject({ url, remoteAddress: '192.0.2.6', headers })
        return statusCode === 200 ? 200 : json()
      }
      const outcomes = [await ask('viewer', ONE), await ask('viewer', TWO), await ask('viewer', ONE)]
      expect(outcomes).toEqual([200, 200, LIMITED])
      expect(await ask('support', ONE)).toBe(200)
      expect(await outcomesOf(console, ONE, 3)).toEqual([200, 200, LIMITED])
    },
  )

  const { 'x-trestle-operator-key': key = '', authorization = '' } = operatorHeaders('viewer')
  it.each<[string, string, Record<string, string>]>([
    ['a good key and a bad token', '/products', { 'x-trestle-operator-key': key, authorization: 'Bearer ended' }],
    ['a good key and a bad token', '/operator/me', { 'x-trestle-operator-key': key, authorization: 'Bearer ended' }],
    ['a bad key', '/operator/me', { 'x-trestle-operator-key': `${key}-`, authorization }],
    ['no key', '/operator/overview', { authorization }],
  ])('counts requests with %s at %s by the address that they come from', async (_credentials, url, credentials) => {
    await using console = await startConsole()
    const refused = refusedBody(401, 'OPERATOR_UNAUTHORIZED', UNAUTHORIZED)
    const headers = { ...credentials, 'x-trestle-operator-address': TWO }
    const ask = async () => (await console.app.inject({ url, remoteAddress: '192.0.2.7', headers })).json()
    expect([await ask(), await ask(), await ask()]).toEqual([refused, refused, LIMITED])
    expect(await outcomesOf(console, TWO, 2)).toEqual([200, 200])
  })

  it('does not limit endpoints without a check of access', async () => {
    for (const url of ['/', '/health', '/ready', '/openapi.json']) {
      expect(await outcomeOf(inventory.app.inject({ url, remoteAddress: '192.0.2.1' })), url).toBe(200)
    }
  })
})
