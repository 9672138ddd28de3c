import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { StackStatus } from '@trestle/stack/status/stack-status.ts'
import { readStatus } from '@trestle/stack/status/status-file.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { ROOT } from '../program.ts'
import { startServer } from '../servers/server.ts'
import { createCaller, MERCHANT } from './payment-page/fixture.ts'

/** Longer than a start takes on a busy machine. */
export const START_MS_MAX = 300_000

/**
 * Starts the same services as `npm start` on separate ports, and returns their addresses. Mails of auth lead to a page with a
 * button. Disposing of `started` stops them.
 * @throws Error if the stack does not become ready
 */
export async function startStack(dataDirectory: string, started: AsyncDisposableStack): Promise<StackStatus> {
  const base = await freePort()
  const server = await startServer({
    name: 'the stack',
    args: [join(ROOT, 'packages', 'stack', 'src', 'main.ts')],
    cwd: ROOT,
    cores: undefined,
    env: {
      PATH: process.env.PATH ?? '',
      AUTH_MAILER_LINK_MODE: 'confirm',
      TRESTLE_DATA_DIRECTORY: dataDirectory,
      TRESTLE_PORT_BASE: String(base),
    },
    // The home page answers first.
    url: `http://localhost:${base + 3}`,
    signs: ['/'],
    startMsMax: START_MS_MAX,
  })
  started.defer(server.stop)
  const deadlineMs = performance.now() + START_MS_MAX
  while (performance.now() < deadlineMs) {
    const status = readStatus({ dataDirectory })
    if (status) return status
    await delay(100)
  }
  throw new Error('the stack does not become ready')
}

export const Urls = z.object({
  HOME_URL: z.string(),
  MAIL_URL: z.string(),
  AUTH_URL: z.string(),
  PAYMENTS_URL: z.string(),
  INVENTORY_URL: z.string(),
  AUTH_METRICS_URL: z.string(),
  PAYMENTS_METRICS_URL: z.string(),
  INVENTORY_METRICS_URL: z.string(),
})
export type Urls = z.infer<typeof Urls>

/** Addresses that pages need in addition to those of the stack. */
export interface Made {
  readonly confirmUrl: string
  readonly invitationUrl: string
  readonly acceptedUrl: string
  readonly payUrl: string
  /** The id of a mail with a link and a code. */
  readonly mailId: string
}

const PATIENCE_MS = 30_000

const App = z.object({ app: z.object({ key: z.string() }) })
const Merchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const Messages = z.object({ messages: z.array(z.object({ id: z.int() })) })
const Message = z.object({ id: z.int(), text: z.string().nullable() })

/** Creates a user, a merchant and two invitations, one of them accepted. @throws Error if a request is refused */
export async function createSamples(urls: Urls): Promise<Made> {
  const call = createCaller(urls.PAYMENTS_URL)
  await createCaller(urls.AUTH_URL)('POST', '/signup', { email: LONG_ADDRESS, password: 'difference engine' })
  const { app } = App.parse(await call('POST', '/apps', { name: 'Nordhavn' }))
  const { merchant } = Merchant.parse(await call('POST', '/merchants', { ...MERCHANT, test: true }, app.key))
  const invited = ['grace@example.com', 'mary@example.com']
  for (const email of invited) await call('POST', `/merchants/${merchant.id}/users`, { email }, app.key)
  const linkOf = async (to: string) => /https?:\/\/\S+/.exec((await mailTo(urls.MAIL_URL, to)).text ?? '')?.[0] ?? ''
  const [invitationUrl = '', acceptedUrl = ''] = await Promise.all(invited.map(linkOf))
  await fetch(acceptedUrl, { method: 'POST', redirect: 'manual', headers: FORM })
  const signUp = await mailTo(urls.MAIL_URL, LONG_ADDRESS)
  const confirmUrl = /https?:\/\/\S+\/verify\S+/.exec(signUp.text ?? '')?.[0] ?? ''
  const pay = { key: merchant.key, test: '1', value: '24.50', text: 'Order 1042: two bags of Huila, whole beans' }
  const payUrl = `${urls.PAYMENTS_URL}/pos?${new URLSearchParams(pay)}`
  return { confirmUrl, invitationUrl, acceptedUrl, payUrl, mailId: String(signUp.id) }
}

const LONG_ADDRESS = 'augusta.ada.king.countess.of.lovelace@mail.analytical-engines.example.com'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Returns the newest mail to an address, after waiting for it. @throws Error if none arrives */
async function mailTo(mailUrl: string, to: string): Promise<z.infer<typeof Message>> {
  const deadlineMs = performance.now() + PATIENCE_MS
  while (performance.now() < deadlineMs) {
    const found = await fetch(`${mailUrl}/messages?${new URLSearchParams({ to })}`)
    const [mail] = Messages.parse(await found.json()).messages
    if (mail) return Message.parse(await (await fetch(`${mailUrl}/messages/${mail.id}`)).json())
    await delay(100)
  }
  throw new Error(`no mail came to ${to}`)
}
