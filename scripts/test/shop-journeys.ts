import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { readStatus } from '../../packages/stack/src/status/status-file.ts'
import { startChromium } from '../../packages/testing/src/chromium.ts'
import { canTestWith } from '../../packages/testing/src/find-program.ts'
import { freePort } from '../../packages/testing/src/free-port.ts'

/** The running stack of the examples. */
export interface ExampleStack {
  readonly root: string
  readonly dataDirectory: string
  /** The environment of its programs. */
  readonly env: Record<string, string | undefined>
  readonly run: (...args: readonly string[]) => { readonly child: ChildProcess; readonly output: () => string }
}

interface Customer {
  readonly email: string
  readonly cookie: string
}

const PASSWORD = 'harbour coffee 1842'
const LINES_MAX = 400
/** A card whose bank asks for approval, and one whose bank asks for nothing. */
const [ASKED, UNASKED] = ['1000000000000000', '1000000000010000']
const Account = z.object({ appKey: z.string(), id: z.string() })
const Session = z.object({ access_token: z.string() })
const Stock = z.object({
  data: z.array(z.object({ sku: z.string(), stock: z.object({ onHand: z.int(), available: z.int() }) })),
})
const Made = z.object({ data: z.object({ id: z.int() }) })
const Transactions = z.array(
  z.object({
    reference: z.string().optional(),
    successful: z.boolean(),
    tds: z.string().optional(),
    capturedAmount: z.int(),
    refundedAmount: z.int(),
    voidedAmount: z.int(),
  }),
)

/** Tests the shop of `examples/` on a stack that runs: by HTTP, and in Chromium. */
export function describeShop(stack: ExampleStack): void {
  const { root, env } = stack
  let url: string
  let shop: ChildProcess
  let anna: Customer
  let bent: Customer

  async function open(): Promise<void> {
    const { child, output } = stack.run('examples/shop/server.ts')
    await vi.waitFor(() => expect(output()).toBe(`the shop is at ${url}\n`), { timeout: 20_000 })
    shop = child
  }

  async function signUp(email: string): Promise<Customer> {
    const key = readStatus(stack)?.SERVICE_ROLE_KEY
    const send = (path: string, body: object) =>
      fetch(env.AUTH_URL + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      })
    await send('/admin/users', { email, password: PASSWORD, email_confirm: true })
    const session = Session.parse(
      await (await send('/token?grant_type=password', { email, password: PASSWORD })).json(),
    )
    return { email, cookie: `token=${session.access_token}` }
  }

  const account = () => {
    const database = new DatabaseSync(join(stack.dataDirectory, 'shop.db'), { readOnly: true })
    const row = database.prepare('SELECT body FROM objects WHERE id = ?').get(String(env.PAYMENTS_URL))
    database.close()
    return Account.parse(JSON.parse(String(row?.body)))
  }
  const asShop = async (path: string): Promise<unknown> => {
    const authorization = `Basic ${Buffer.from(`:${account().appKey}`).toString('base64')}`
    return (await fetch(env.PAYMENTS_URL + path, { headers: { authorization } })).json()
  }
  /** The payments of an order, the newest first. */
  const paymentsOf = async (order: string | undefined) =>
    Transactions.parse(await asShop(`/merchants/${account().id}/transactions?limit=1000`))
      .filter(({ reference }) => reference === order)
      .map(({ reference: _, ...amounts }) => amounts)
  const paid = (amounts: object) => ({
    ...{ successful: true, tds: 'full', capturedAmount: 0, refundedAmount: 0, voidedAmount: 0 },
    ...amounts,
  })
  const stockOf = async (sku: string) =>
    Stock.parse(await (await fetch(`${env.INVENTORY_URL}/products?sku=${sku}&include=stock`)).json()).data[0]?.stock

  /** Puts a product of a test on the shelf, so that no other test sells it. The name is the SKU too. */
  async function shelve(name: string, price: number, quantity: number): Promise<void> {
    const send = async (path: string, body: object): Promise<unknown> =>
      (
        await fetch(env.INVENTORY_URL + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).json()
    const made = await send('/products', { sku: name, attributes: { name, price, category: 'gifts' } })
    const { id: productId } = Made.parse(made).data
    await send('/movements', { type: 'receive', productId, locationId: 1, quantity })
  }

  const post = (path: string, { cookie }: Customer, form: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { cookie, origin: url },
      body: new URLSearchParams(form),
      redirect: 'manual',
    })
  /** Buys one piece. @returns the order and the address of its payment page */
  async function buy(customer: Customer, sku: string) {
    const order = randomUUID()
    const answer = await post(`/orders/${order}`, customer, { sku })
    expect(answer.status).toBe(303)
    return { order, link: String(answer.headers.get('location')) }
  }
  /** What the shop's page says of the newest order with this product. */
  async function read({ cookie }: Customer, product: string): Promise<string | undefined> {
    const page = await (await fetch(url, { headers: { cookie } })).text()
    const orders = /<section id="orders"(.*?)<\/section>/s.exec(page)?.[1] ?? ''
    const shown = orders.split('<article>').find((each) => each.includes(`<h2>${product}</h2>`))
    return /<p class="[^"]*">(.*?)<\/p>/s.exec(shown ?? '')?.[1]?.trim()
  }

  /** Pays without script, as the payment page allows. @returns the address that leads back to the shop, if the payment is good */
  async function pay(link: string, number: string, decision = 'approve'): Promise<string | undefined> {
    const form = (path: string, fields: Record<string, string>) =>
      fetch(new URL(path, link), { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
    const page = /name="page" value="([^"]+)"/.exec(await (await fetch(link)).text())?.[1] ?? ''
    const card = { number, expiry: '08/66', code: '111' }
    let answer = await form('/pos/pay', { link: new URL(link).search.slice(1), page, ...card })
    if (number === ASKED) {
      const state = new URL(String(answer.headers.get('location'))).searchParams.get('state') ?? ''
      const cookie = answer.headers
        .getSetCookie()
        .map((each) => String(each.split(';')[0]))
        .join('; ')
      const decided = await form('/acs/challenge', { state, decision })
      answer = await fetch(String(decided.headers.get('location')), { headers: { cookie }, redirect: 'manual' })
    }
    return /href="([^"]+\/paid\?transactionId=\w+)"/.exec(await answer.text())?.[1]?.replaceAll('&amp;', '&')
  }
  /** Follows the link of the payment page to the shop. */
  async function comeBack(address: string | undefined): Promise<void> {
    const answer = await fetch(String(address), { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/#orders'])
  }

  describe('examples/shop/', () => {
    beforeAll(async () => {
      // Chosen at the last moment: until a program listens there, another test may take the port.
      env.SHOP_PORT = String(await freePort())
      url = `http://localhost:${env.SHOP_PORT}`
      await open()
      ;[anna, bent] = await Promise.all([signUp('anna@shop.example'), signUp('bent@shop.example')])
    })

    it(`has at most ${LINES_MAX} lines`, () => {
      const files = globSync('examples/shop/*.{ts,html,css}', { cwd: root })
      const lines = files.map((file) => readFileSync(join(root, file), 'utf8').split('\n').length - 1)
      expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(LINES_MAX)
    })

    it('404: leads back to the shop from an unknown address', async () => {
      const page = await fetch(`${url}/orders`)
      expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8'])
      const text = await page.text()
      expect(text).toContain('<title>Not found</title>')
      expect(text).toContain(
        '<main><h1>Nothing is at this address</h1><p><a href="/">Back to the shop</a></p></main></body></html>',
      )
      expect(text).not.toContain('<script')
    })

    it('serves its page with a strict policy, and tells no browser a secret', async () => {
      const page = await fetch(url)
      expect(page.headers.get('content-security-policy')).toBe(
        `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src ${env.AUTH_URL}; ` +
          `form-action 'self' ${env.PAYMENTS_URL}; base-uri 'none'; frame-ancestors 'none'`,
      )
      const texts = [await page.text(), await (await fetch(`${url}/sign-in.js`)).text()]
      const secrets = [account().appKey, String(readStatus(stack)?.SERVICE_ROLE_KEY)]
      for (const secret of secrets) expect(texts.some((text) => text.includes(secret))).toBe(false)
    })

    it('takes orders of users who are signed in, and of no foreign page', async () => {
      const forged = await fetch(`${url}/orders/${randomUUID()}`, { method: 'POST', headers: { cookie: anna.cookie } })
      expect(forged.status).toBe(403)
      const visitor = await post(`/orders/${randomUUID()}`, { email: '', cookie: '' }, { sku: 'COFFEE-HUILA' })
      expect(await visitor.text()).toContain('<p role="alert">Please sign in first.</p>')
    })

    it('reserves, ships and captures what is paid by 3-D Secure, and takes it back once', async () => {
      await shelve('Vase', 18, 3)
      const { order, link } = await buy(anna, 'Vase')
      expect(new URL(link).searchParams.get('value')).toBe('18.00')
      expect(await stockOf('Vase')).toEqual({ onHand: 3, available: 2 })
      expect(await read(anna, 'Vase')).toMatch(/^Reserved for you until \d\d:\d\d$/)
      await comeBack(await pay(link, ASKED))
      expect(await read(anna, 'Vase')).toBe('Paid, and on its way')
      expect(await stockOf('Vase')).toEqual({ onHand: 2, available: 2 })
      expect(await paymentsOf(order)).toEqual([paid({ capturedAmount: 1_800 })])
      await post(`/orders/${order}/end`, bent)
      await Promise.all([post(`/orders/${order}/end`, anna), post(`/orders/${order}/end`, anna)])
      expect(await read(anna, 'Vase')).toBe('Returned, and refunded')
      expect(await stockOf('Vase')).toEqual({ onHand: 3, available: 3 })
      expect(await paymentsOf(order)).toEqual([paid({ capturedAmount: 1_800, refundedAmount: 1_800 })])
    })

    it('takes a double click for one order, and shows it to nobody else', async () => {
      const order = randomUUID()
      const before = await stockOf('COFFEE-YIRGA')
      const answers = await Promise.all([1, 2].map(() => post(`/orders/${order}`, anna, { sku: 'COFFEE-YIRGA' })))
      expect(new Set(answers.map(({ headers }) => headers.get('location'))).size).toBe(1)
      expect(await stockOf('COFFEE-YIRGA')).toEqual({ ...before, available: Number(before?.available) - 1 })
      expect((await post(`/orders/${order}`, bent, { sku: 'COFFEE-YIRGA' })).status).toBe(200)
      expect(await read(bent, 'Yirgacheffe')).toBeUndefined()
    })

    it('sells the last piece once, puts it back when the payment fails, and charges nobody who comes too late', async () => {
      await shelve('Lamp', 89, 1)
      const answers = await Promise.all(
        [anna, bent].map((customer) => post(`/orders/${randomUUID()}`, customer, { sku: 'Lamp' })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 303])
      const [first, second] = answers[0]?.status === 303 ? [anna, bent] : [bent, anna]
      const link = String(answers.find(({ status }) => status === 303)?.headers.get('location'))
      expect(await pay(link, ASKED, 'decline')).toBeUndefined()
      // Payments tells of the decline by its webhook.
      await expect.poll(() => stockOf('Lamp')).toEqual({ onHand: 1, available: 1 })
      const { link: other } = await buy(second, 'Lamp')
      const late = await pay(link, UNASKED)
      await comeBack(late)
      expect(await read(first, 'Lamp')).toBe('Sold out before you paid, and nothing was charged')
      const order = String(new URL(link).searchParams.get('reference'))
      expect(await paymentsOf(order)).toEqual([
        paid({ voidedAmount: 8_900 }),
        { ...paid({ successful: false }), tds: undefined },
      ])
      // This customer closes the tab of the payment page, so only the webhook tells of the payment.
      await pay(other, UNASKED)
      await expect.poll(() => read(second, 'Lamp')).toBe('Paid, and on its way')
      expect(await stockOf('Lamp')).toEqual({ onHand: 0, available: 0 })
    })

    it('gives back money of another amount, of a second payment, of a cancelled order, and of none', async () => {
      await shelve('Teapot', 24, 6)
      const { order, link } = await buy(bent, 'Teapot')
      await comeBack(await pay(link.replace('value=24.00', 'value=0.25'), UNASKED))
      expect(await read(bent, 'Teapot')).toMatch(/^Reserved for you/)
      for (const _ of ['the first', 'the second']) await comeBack(await pay(link, UNASKED))
      const { order: cancelled, link: stale } = await buy(bent, 'Teapot')
      await post(`/orders/${cancelled}/end`, bent)
      expect(await read(bent, 'Teapot')).toBe('Cancelled, and nothing was charged')
      await comeBack(await pay(stale, UNASKED))
      await pay(link.replace(/reference=[^&]+&/, ''), UNASKED)
      const amounts = async (id: string | undefined) =>
        (await paymentsOf(id)).map(({ capturedAmount, voidedAmount }) => [capturedAmount, voidedAmount])
      await expect
        .poll(() => amounts(order))
        .toEqual([
          [0, 2_400],
          [2_400, 0],
          [0, 25],
        ])
      await expect.poll(() => amounts(cancelled)).toEqual([[0, 2_400]])
      await expect.poll(() => amounts(undefined)).toEqual([[0, 2_400]])
      expect(await stockOf('Teapot')).toEqual({ onHand: 5, available: 5 })
    })

    it('keeps its app, its merchant and its orders at a restart', async () => {
      const before = account()
      const { order } = await buy(bent, 'COFFEE-HUILA')
      await post(`/orders/${order}/end`, bent)
      const closed = once(shop, 'close')
      shop.kill('SIGTERM')
      await closed
      await open()
      expect(account()).toEqual(before)
      const { identity } = z.object({ identity: z.object({ id: z.string() }) }).parse(await asShop('/me'))
      expect(await asShop(`/identities/${identity.id}/merchants?limit=10`)).toHaveLength(1)
      expect(await asShop(`/merchants/${before.id}/webhooks?limit=10`)).toHaveLength(1)
      expect(await read(bent, 'Huila')).toBe('Cancelled, and nothing was charged')
    })

    it.runIf(canTestWith('chromium'))(
      'sells in Chromium, by keyboard, on a narrow screen',
      { timeout: 90_000 },
      async () => {
        const browser = await startChromium()
        const page = await browser.newPage({ viewport: { width: 320, height: 640 }, colorScheme: 'dark' })
        // Half the limit of the test, so that a failure names the step that waits.
        page.setDefaultTimeout(15_000)
        const problems: string[] = []
        page.on('pageerror', ({ message }) => problems.push(message))
        page.on('console', (line) => line.type() === 'error' && problems.push(line.text()))
        const press = (name: string) => page.getByRole('button', { name }).first().press('Enter')
        await page.goto(url)
        await press('Buy Huila')
        await page.locator('[name=email]:focus').waitFor()
        await page.keyboard.type(anna.email)
        await page.keyboard.press('Tab')
        await page.keyboard.type(PASSWORD)
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Sign out' }).waitFor()
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
        await press('Buy Huila')
        await page.locator('#number:focus').waitFor()
        for (const text of [ASKED, '08/66', '111']) {
          await page.keyboard.type(text)
          await page.keyboard.press(text === '111' ? 'Enter' : 'Tab')
        }
        const bank = page.frameLocator('#approval-frame iframe:not([hidden])')
        await bank.getByRole('button', { name: 'Approve' }).press('Enter')
        await page.locator('#leave').press('Enter')
        // Anna may have won the last lamp, so her page may tell of two payments.
        const huila = page.locator('#orders article').filter({ hasText: 'Huila' }).first()
        await huila.getByText('Paid, and on its way').waitFor()
        await press('Return Huila')
        await huila.getByText('Returned, and refunded').waitFor()
        await press('Sign out')
        await page.getByRole('button', { name: 'Sign in' }).first().waitFor()
        expect(problems).toEqual([])
        await browser.close()
      },
    )
  })
}
