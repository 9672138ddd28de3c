import { z } from 'zod'
import { post } from '../../services/http-client.ts'
import { insertTransactions, newMerchant } from '../../services/payments.ts'
import { HONEST_ADDRESS } from '../honest-load.ts'
import { documents, inTurn, mixed, type Target } from '../target.ts'

const TRANSACTIONS = 5_000
const BODY_BYTES = 131_072

const CreatedApp = z.object({ app: z.object({ key: z.string() }) })
const CreatedMerchant = z.object({ merchant: z.object({ id: z.string() }) })
const Ids = z.array(z.object({ id: z.string() }))

/** A shop that reads its merchant and its transactions; and another app that asks for the longest lists of its own. */
export const paymentsTarget: Target = {
  service: 'payments',
  env: { PAYMENTS_TRUSTED_PROXIES: `${HONEST_ADDRESS}/32` },
  prepare: async ({ url, execute }) => {
    const open = async (name: string) => {
      const { app } = CreatedApp.parse(await post(`${url}/apps`, { name }))
      const headers = { authorization: `Basic ${Buffer.from(`:${app.key}`).toString('base64')}` }
      const { merchant } = CreatedMerchant.parse(await post(`${url}/merchants`, newMerchant(0), headers))
      await insertTransactions(execute, TRANSACTIONS, merchant.id)
      return { headers, merchantId: merchant.id }
    }
    const { headers, merchantId } = await open('shop')
    const intruder = await open('intruder')
    const rows = await execute(`SELECT id FROM payments.transactions WHERE merchant_id = '${merchantId}' LIMIT 1000`)
    const ids = inTurn(Ids.parse(rows).map(({ id }) => id))
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
        bytes: BODY_BYTES,
      },
    }
  },
}
