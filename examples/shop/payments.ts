import { z } from 'zod'
import type { Product } from './inventory.ts'
import { call, payments, shop, unless } from './services.ts'
import shopFile from './shop.json' with { type: 'json' }
import { find, save } from './store.ts'

const [int, text] = [z.int(), z.string()]
const Account = z.object({ appKey: text, id: text, key: text, hook: text })
const App = z.object({ app: z.object({ key: text }) })
const Merchant = z.object({ merchant: z.object({ id: text, key: text }) })
const Shown = z.object({ successful: z.boolean(), amount: int, currency: text, pendingAmount: int })
const Payment = z.object({ transaction: Shown.extend({ reference: text.default('') }) })
/** The currency of all prices. */
export const { currency } = shopFile.merchant
const hook = { url: `${shop}/webhooks`, events: ['transaction.created', 'transaction.failed'] }
const keyOf = (app: string) => ({ authorization: `Basic ${Buffer.from(`:${app}`).toString('base64')}` })
const account = await openAccount()
const secret = keyOf(account.appKey)
if (account.hook !== hook.url) {
  await call('POST', `${payments}/merchants/${account.id}/webhooks`, secret, hook).catch(unless(400))
  save(payments, 'shop', { ...account, hook: hook.url })
}

/** The merchant of an earlier start, or a new one where payments does not know it. */
async function openAccount(): Promise<z.infer<typeof Account>> {
  const kept = Account.optional().parse(find(payments))
  if (kept && (await call('GET', `${payments}/merchants/${kept.id}`, keyOf(kept.appKey)).catch(unless(401))))
    return kept
  const { app } = App.parse(await call('POST', `${payments}/apps`, {}, { name: shopFile.merchant.name }))
  const { merchant } = Merchant.parse(await call('POST', `${payments}/merchants`, keyOf(app.key), shopFile.merchant))
  return save(payments, 'shop', { ...merchant, appKey: app.key, hook: '' })
}

/** The address of the page on which an order is paid. A customer can change it, so the payment is compared with the order. */
export function paymentPage(reference: string, { name: text, price }: Product): string {
  const order = { key: account.key, test: '1', currency, value: (price / 100).toFixed(2), text, reference }
  return `${payments}/pos?${new URLSearchParams({ ...order, redirect: `${shop}/orders/${reference}/paid` })}`
}

/** Asks payments what a payment is: the shop believes neither a browser nor a webhook. */
export const findPayment = async (id: string): Promise<z.infer<typeof Payment>['transaction']> =>
  Payment.parse(await call('GET', `${payments}/transactions/${encodeURIComponent(id)}`, secret)).transaction

/** Captures, voids or refunds money of a payment. Each happens once, however often it is sent. */
export async function moveMoney(act: 'captures' | 'voids' | 'refunds', id: string, amount: number): Promise<void> {
  const headers = { ...secret, 'idempotency-key': id }
  if (amount > 0) await call('POST', `${payments}/transactions/${id}/${act}`, headers, { amount })
}
