import type { CustomerCard } from './orders.ts'
import type { Visitor } from './visitor.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Pays on the page of a payment link, as a browser without script does, and meets a flaw of the form on the way. */
export async function payByLink(visitor: Visitor, key: string, card: CustomerCard): Promise<void> {
  const link = new URLSearchParams({ key, test: '1', value: '10' }).toString()
  const page = /name="page" value="([^"]+)"/.exec(String(await visitor.ask('GET', `/pos?${link}`)))?.[1] ?? ''
  const pay = (changes: object) =>
    visitor.answer('POST', '/pos/pay', {
      text: new URLSearchParams({ link, page, ...card, expiry: '12/66', ...changes }).toString(),
      headers: FORM,
    })
  await pay({ expiry: '12/20' })
  const { headers } = await pay({})
  const bank = URL.parse(headers.get('location') ?? '')
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';')
  if (!bank) throw new Error('the page of a payment link does not lead to the bank')
  const decision = { state: bank.searchParams.get('state') ?? '', decision: 'approve' }
  await visitor.ask('POST', bank.pathname, decision)
  const back = await visitor.answer('GET', `/pos/pay/${page}?${link}`, { headers: { cookie } })
  if (!back.headers.get('location')?.startsWith('/pos/receipt?')) throw new Error('a payment link was not paid')
  await visitor.ask('GET', back.headers.get('location') ?? '')
}
