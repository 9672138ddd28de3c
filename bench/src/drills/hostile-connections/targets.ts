import { z } from 'zod'
import { createApp, insertTransactions, merchantBody, post, request, signAdminToken, signUp } from '../../fixtures.ts'
import { documents, HONEST_ADDRESS, type HonestRequest, mixed, roundRobin, type Target } from './target.ts'

/** Fewer users than one address may sign up at the same time. */
const USERS = 24
const METADATA_BYTES = 8_000
const BODY_BYTES = { auth: 1_048_576, payments: 131_072, inventory: 1_048_576 }
const JSON_TYPE = { 'content-type': 'application/json' }

const Refreshed = z.object({ refresh_token: z.string() })

/** Users read their record and refresh, and an operator lists users. One user has the largest metadata. */
export const authTarget: Target = {
  service: 'auth',
  env: { AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_TRUSTED_PROXIES: `${HONEST_ADDRESS}/32` },
  prepare: async ({ url, deployment }) => {
    const secret = deployment.secrets.AUTH_JWT_SECRET
    if (secret === undefined) throw new Error('the stack has no AUTH_JWT_SECRET')
    const operator = { authorization: `Bearer ${signAdminToken(secret)}` }
    const sessions = []
    for (let user = 0; user < USERS; user += 1) sessions.push(await signUp(url, `user${user}@bench.example`))
    const intruder = await signUp(url, 'intruder@bench.example')
    const bearer = { authorization: `Bearer ${intruder.access_token}` }
    await request(`${url}/user`, {
      method: 'PUT',
      headers: { ...JSON_TYPE, ...bearer },
      body: JSON.stringify({ data: { filler: 'x'.repeat(METADATA_BYTES) } }),
    })
    const readers = roundRobin(sessions.map(({ access_token: token }) => ({ authorization: `Bearer ${token}` })))
    const refreshTokens = sessions.map(({ refresh_token: token }) => token)
    const read = (): HonestRequest => ({ method: 'GET', path: '/user', headers: readers() })
    const refresh = (): HonestRequest => {
      const token = refreshTokens.shift()
      // All of these requests may be open at the same time.
      if (token === undefined) return read()
      return {
        method: 'POST',
        path: '/token?grant_type=refresh_token',
        headers: JSON_TYPE,
        body: JSON.stringify({ refresh_token: token }),
        learn: (body) => refreshTokens.push(Refreshed.parse(JSON.parse(body)).refresh_token),
      }
    }
    return {
      next: mixed([
        read,
        refresh,
        () => ({ method: 'GET', path: '/settings', headers: {} }),
        () => ({ method: 'GET', path: '/admin/users?per_page=20', headers: operator }),
      ]),
      huge: [...documents, { path: '/user', headers: bearer }],
      slowBody: { path: '/signup', headers: JSON_TYPE, bytes: BODY_BYTES.auth },
    }
  },
}

const TRANSACTIONS = 5_000

const CreatedMerchant = z.object({ merchant: z.object({ id: z.string() }) })
const Ids = z.array(z.object({ id: z.string() }))

/** A shop reads its merchant and its transactions. Another app requests its longest lists. */
export const paymentsTarget: Target = {
  service: 'payments',
  env: { PAYMENTS_TRUSTED_PROXIES: `${HONEST_ADDRESS}/32` },
  prepare: async ({ url, execute }) => {
    const open = async () => {
      const headers = await createApp(url)
      const { merchant } = CreatedMerchant.parse(await post(`${url}/merchants`, merchantBody(0), headers))
      await insertTransactions(execute, TRANSACTIONS, merchant.id)
      return { headers, merchantId: merchant.id }
    }
    const { headers, merchantId } = await open()
    const intruder = await open()
    const rows = await execute(`SELECT id FROM payments.transactions WHERE merchant_id = '${merchantId}' LIMIT 1000`)
    const ids = roundRobin(Ids.parse(rows).map(({ id }) => id))
    const lists = ['transactions?limit=500', 'transactions', 'statement.csv', 'events']
    const hostile = lists.map((list) => ({
      path: `/merchants/${intruder.merchantId}/${list}`,
      headers: { ...intruder.headers, 'accept-encoding': 'gzip' },
    }))
    return {
      next: mixed([
        () => ({ method: 'GET', path: '/me', headers }),
        () => ({ method: 'GET', path: `/merchants/${merchantId}`, headers }),
        () => ({ method: 'GET', path: `/transactions/${ids()}`, headers }),
        () => ({ method: 'GET', path: `/merchants/${merchantId}/transactions?limit=20`, headers }),
      ]),
      huge: [...documents, ...hostile],
      slowBody: {
        path: '/merchants',
        headers: { ...intruder.headers, 'content-type': 'application/json' },
        bytes: BODY_BYTES.payments,
      },
    }
  },
}

const PRODUCTS = 5_000
const ATTRIBUTES_BYTES = 4_000

/** Clients read products one by one and by pages. Other clients request the longest pages of large products. */
export const inventoryTarget: Target = {
  service: 'inventory',
  env: { INVENTORY_TRUSTED_PROXIES: `${HONEST_ADDRESS}/32`, INVENTORY_RATE_LIMIT: '600' },
  prepare: async ({ deployment, execute }) => {
    await deployment.runCommand('seed', '--products', String(PRODUCTS))
    await execute(
      `UPDATE inventory.products SET attributes = jsonb_build_object('filler', repeat('x', ${ATTRIBUTES_BYTES})) WHERE id > 1000`,
    )
    const ids = roundRobin(Array.from({ length: 1_000 }, (_, at) => at + 1))
    return {
      next: mixed([
        () => ({ method: 'GET', path: `/products/${ids()}`, headers: {} }),
        () => ({ method: 'GET', path: '/products?limit=20', headers: {} }),
        () => ({ method: 'GET', path: '/stock?limit=20', headers: {} }),
      ]),
      huge: [...documents, { path: '/products?limit=500' }, { path: '/products/export?format=csv' }],
      slowBody: { path: '/products', headers: { 'content-type': 'application/json' }, bytes: BODY_BYTES.inventory },
    }
  },
}
