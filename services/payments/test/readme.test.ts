import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '@trestle/testing/free-port.ts'
import { programEnvironment } from '@trestle/testing/program-environment.ts'
import { newFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { signDelivery } from '../src/webhooks/webhook.ts'
import { basic, startPayments, type TestPayments } from './payments-app.ts'

const CreatedApp = z.object({ app: z.object({ key: z.string() }) })
const CreatedMerchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const CreatedWebhook = z.object({ webhook: z.object({ secret: z.string() }) })
const Transactions = z.array(z.object({ id: z.string() }))

removeFoldersAtEnd()

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ webhookHosts: ['localhost'] })
})
afterAll(() => payments.close())

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const quickStart = read('../../../docs/quick-start/take-a-payment.md')

/** The examples of a document in a language. */
const examplesOf = (document: string, language: string) =>
  [...document.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)

/** What a reader puts in the place of `<app key>` and others. */
type Known = Record<string, string>

const fill = (text: string, known: Known) =>
  text.replaceAll(/<(\w+ \w+)>/g, (_, name: string) => known[name] ?? expect.fail(name))

/** Runs the curl commands of a document in their order, and pays at its link before the first list. */
async function runCommands(document: string): Promise<{ readonly statuses: readonly number[]; readonly known: Known }> {
  const known: Known = {}
  const statuses: number[] = []
  for (const [command] of document.matchAll(/^(?:curl|echo) .*$/gm)) {
    const [, url = ''] = /"\$PAYMENTS_URL([^"]+)"/.exec(fill(command, known)) ?? []
    if (command.startsWith('echo')) {
      await payOnPage(url, /card `([\d ]+)`/i.exec(document)?.[1] ?? '')
      continue
    }
    const key = known['app key']
    const [, idempotencyKey] = /-H 'idempotency-key: ([^']+)'/.exec(command) ?? []
    const [, payload] = /-d '(.*)'$/.exec(command) ?? []
    const answer = await payments.app.inject({
      method: payload === undefined && !command.includes('-X POST') ? 'GET' : 'POST',
      url,
      headers: {
        ...(key === undefined ? {} : basic(key)),
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(payload === undefined ? {} : { payload }),
    })
    statuses.push(answer.statusCode)
    Object.assign(known, valuesOf(answer.json()))
  }
  return { statuses, known }
}

/** Pays by the form of the page, as a browser without scripts. */
async function payOnPage(link: string, card: string): Promise<void> {
  const { body } = await payments.app.inject(link)
  const page = /name="page" value="([^"]+)"/.exec(body)?.[1] ?? ''
  const form = { link: String(link.split('?')[1]), page, number: card, expiry: '08/66', code: '111' }
  await payments.app.inject({
    method: 'POST',
    url: '/pos/pay',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
  })
}

/** The values that later commands need. */
function valuesOf(body: unknown): Known {
  const app = CreatedApp.safeParse(body).data?.app
  const merchant = CreatedMerchant.safeParse(body).data?.merchant
  const webhook = CreatedWebhook.safeParse(body).data?.webhook
  const transaction = Transactions.safeParse(body).data?.[0]
  return {
    ...(app && { 'app key': app.key }),
    ...(merchant && { 'merchant id': merchant.id, 'merchant key': merchant.key }),
    ...(webhook && { 'webhook secret': webhook.secret }),
    ...(transaction && { 'transaction id': transaction.id }),
  }
}

interface Sent {
  readonly headers?: Record<string, string>
  readonly body: string | URLSearchParams
}

/** Runs a program of the quick start, which calls the service by fetch. @returns what it prints */
async function runProgram(code: string): Promise<readonly string[]> {
  const printed: string[] = []
  const send = async (url: string, { headers, body }: Sent) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const { pathname, search } = new URL(url)
    const answer = await payments.app.inject({
      method: 'POST',
      url: pathname + search,
      headers: { ...(typeof body === 'string' ? {} : form), ...headers },
      payload: body.toString(),
    })
    const isGood = answer.statusCode < 400
    return { ok: isGood, status: answer.statusCode, text: async () => answer.body, json: async () => answer.json() }
  }
  const log = (...words: readonly unknown[]) => printed.push(words.join(' '))
  const process = { env: { PAYMENTS_URL: 'http://payments' } }
  await new Function('fetch', 'console', 'process', `return (async () => {${code}})()`)(send, { log }, process)
  return printed
}

it('every step of the first run succeeds, in the order of the README', async () => {
  expect((await runCommands(read('../README.md'))).statuses).toEqual([201, 201, 200, 201])
})

describe('the quick start', () => {
  let ran: Awaited<ReturnType<typeof runCommands>>
  beforeAll(async () => {
    ran = await runCommands(quickStart)
  })

  it('takes a payment, gives it back and makes a webhook, by curl and by fetch', async () => {
    const { statuses, known } = ran
    expect(statuses).toEqual([201, 201, 200, 201, 201, 201])
    const [made = '', ...otherAnswers] = examplesOf(quickStart, 'json')
    const app = { id: expect.stringMatching(/^[0-9a-f]{24}$/), key: known['app key'] }
    expect([JSON.parse(fill(made, known)), otherAnswers]).toEqual([{ app }, []])
    const [refund = '', checkout = '', ...others] = examplesOf(quickStart, 'ts')
    expect(others).toEqual([])
    expect(await runProgram(fill(refund, known))).toEqual(['201'])
    expect(await runProgram(fill(checkout, known))).toEqual([
      'card-lookup fetch',
      'device-fingerprint background-iframe',
      'tds-fingerprint background-iframe',
      'tds-challenge redirect',
      expect.stringMatching(/^paid [0-9a-f]{24}$/),
    ])
    const declined = checkout.replace("decision: 'approve'", "decision: 'decline'")
    await expect(runProgram(fill(declined, known))).rejects.toThrow('TDSECURE_FAILED')
  })

  it('receives each event once, and nothing that the secret of the webhook has not signed', async () => {
    const [receiver = ''] = examplesOf(quickStart, 'js')
    const [reference = ''] = examplesOf(read('../../../docs/reference/payments.md'), 'js')
    expect(receiver).toContain(reference.slice(reference.indexOf('/**')))
    const file = join(newFolder(), 'receiver.mjs')
    writeFileSync(file, receiver)
    const { known } = ran
    const { 'webhook secret': secret = '', 'merchant id': merchantId, 'app key': key = '' } = known
    const events = await payments.app.inject({
      url: `/merchants/${merchantId}/events?limit=100`,
      headers: basic(key),
    })
    const event = z
      .array(z.looseObject({ type: z.string(), data: z.looseObject({}) }))
      .parse(events.json())
      .find(({ type }) => type === 'transaction.captured')
    const body = JSON.stringify(event)
    const PORT = String(await freePort())
    const child = spawn(process.execPath, [file], {
      env: { ...programEnvironment, WEBHOOK_SECRET: secret, PORT },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe('waiting for events')
    const deliver = async (secrets: readonly string[]) => {
      const signature = signDelivery(secrets, Math.floor(Date.now() / 1_000), body)
      const headers = secrets.length > 0 ? { 'x-signature': signature } : {}
      return (await fetch(`http://localhost:${PORT}/hook`, { method: 'POST', headers, body })).status
    }
    const statuses = [await deliver([secret]), await deliver([secret]), await deliver(['other']), await deliver([])]
    expect(statuses).toEqual([204, 204, 400, 400])
    child.kill()
    const printed: string[] = []
    for await (const line of lines) printed.push(line)
    expect(printed).toEqual([`transaction.captured ${known['transaction id']}`])
  })
})
