import { z } from 'zod'
import type { Scenario } from '../scenario.ts'
import { post } from './http-client.ts'

const MERCHANTS = 50

const CreatedApp = z.object({ app: z.object({ key: z.string() }) })
const CreatedMerchant = z.object({ merchant: z.object({ id: z.string() }) })

/** What is there of payments: the identity of a key, and a merchant of it. */
export const paymentsScenario: Scenario = {
  service: 'payments',
  env: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_APPS: '0', PAYMENTS_RATE_FAILURES: '0' },
  referenceEnv: ({ PAYMENTS_PEPPER }) => ({ PEPPER: PAYMENTS_PEPPER }),
  prepare: async ({ url }) => {
    const { app } = CreatedApp.parse(await post(`${url}/apps`, { name: 'bench' }))
    const headers = { authorization: `Basic ${Buffer.from(`:${app.key}`).toString('base64')}` }
    const ids: string[] = []
    for (let count = 0; count < MERCHANTS; count++) {
      ids.push(CreatedMerchant.parse(await post(`${url}/merchants`, newMerchant(count), headers)).merchant.id)
    }
    return [
      {
        name: 'GET /me',
        goal: 0.8,
        nextLoad: async () => ({ method: 'GET', path: '/me', headers, connections: 64 }),
      },
      {
        name: 'GET /merchants/:merchantId',
        goal: 0.8,
        nextLoad: async () => ({ method: 'GET', path: '/merchants/{token}', tokens: ids, headers, connections: 64 }),
      },
    ]
  },
}

function newMerchant(count: number) {
  return {
    name: `Shop ${count}`,
    currency: 'DKK',
    test: true,
    email: 'owner@bench.example',
    website: 'https://bench.example',
    descriptor: 'BENCH SHOP',
    company: { country: 'DK' },
  }
}
