// Makes an app, creates merchants with its key, and pages through them. Start the stack first (npm start), then: npx node
// examples/create-merchant.ts
import { z } from 'zod'
import { findAddress } from '../packages/stack/src/status/status-file.ts'

const payments = await findAddress('PAYMENTS_URL')

const App = z.object({ app: z.object({ id: z.string(), key: z.string() }) })
const Merchant = z.object({ id: z.string(), key: z.string(), descriptor: z.string(), currency: z.string() })

async function call(method: string, path: string, key?: string, body?: unknown): Promise<unknown> {
  const response = await fetch(payments + path, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      // HTTP Basic with an empty user name and the app's key as the password.
      ...(key && { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

const { app } = App.parse(await call('POST', '/apps', undefined, { name: 'Corner shop' }))
console.log(`app ${app.id}; its key is shown this once`)

for (const descriptor of ['CORNER SHOP', 'CORNER CAFE']) {
  const created = await call('POST', '/merchants', app.key, {
    currency: 'EUR',
    email: 'owner@example.com',
    website: 'https://shop.example.com',
    descriptor,
    company: { country: 'DK' },
    test: true,
  })
  console.log(`merchant ${z.object({ merchant: Merchant }).parse(created).merchant.id}: ${descriptor}`)
}

// A page shorter than its limit is the last page. `before` is the last id of the page.
let before = ''
for (;;) {
  const page = await call('GET', `/identities/${app.id}/merchants?limit=1&before=${before}`, app.key)
  const [merchant] = z.array(Merchant).parse(page)
  if (merchant === undefined) break
  console.log(`listed ${merchant.id}: ${merchant.descriptor}, ${merchant.currency}`)
  before = merchant.id
}
