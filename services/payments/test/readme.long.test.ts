import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { programEnvironment } from '@trestle/testing/command-server.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { signDelivery } from '../src/webhooks/webhook.ts'
import { startPayments, type TestPayments } from './payments-app.ts'

removeFoldersAtEnd()

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const quickStart = read('../../../docs/quick-start/take-a-payment.md')

/** The examples of a document in a language. */
const examplesOf = (document: string, language: string) =>
  [...document.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)

/** The commands of a document, one a line, without those that another test runs with stand-ins. */
const commandsOf = (document: string) =>
  examplesOf(document, 'sh')
    .join('')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('npm -s run payments'))

const commands = commandsOf(quickStart)
const [receiver = '', checkout = '', ...otherPrograms] = examplesOf(quickStart, 'js')

let payments: TestPayments
let address: string
let folder: string
/** The port at which the receiver listens, in place of 3000. */
let port: string
beforeAll(async () => {
  const own = await freePort()
  address = `http://localhost:${own}`
  port = String(await freePort())
  payments = await startPayments({ work: true, webhookHosts: ['localhost'], baseUrl: address })
  await payments.app.listen({ host: 'localhost', port: own })
  folder = createFolder()
  for (const name of ['bin', 'repository', 'my-shop']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'my-shop/receiver.mjs'), receiver)
  writeFileSync(join(folder, 'my-shop/checkout.mjs'), checkout)
  // `npx node` is the Node.js of this test, and `npm -s start -- status -o env` names this service.
  const npm = `case "$*" in '-s start -- status -o env') echo export PAYMENTS_URL=${address} ;; *) echo "npm $*" ;; esac`
  const programs = { npx: `shift; exec '${process.execPath}' "$@"`, npm }
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
})
afterAll(() => payments.close())

/** A program that runs, with what it has printed until now. */
interface Running {
  readonly child: ChildProcess
  printed: string
}

/** Starts bash, which runs what is written to its input, in a folder beside that of the shop. */
function startShell(): Running {
  const env = { ...programEnvironment, PATH: `${join(folder, 'bin')}:${programEnvironment.PATH}`, PORT: port }
  const child = spawn('bash', ['--norc', '-eu'], { cwd: join(folder, 'repository'), env })
  const running: Running = { child, printed: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      running.printed += text
    })
  return running
}

/** Types commands, and waits until the shell has printed all of some texts. */
async function type(shell: Running, lines: readonly string[], ...texts: readonly string[]): Promise<void> {
  for (const line of lines) shell.child.stdin?.write(`${line.replaceAll('localhost:3000', `localhost:${port}`)}\n`)
  await vi.waitFor(() => expect(texts.filter((text) => !shell.printed.includes(text))).toEqual([]), {
    timeout: 60_000,
    interval: 20,
  })
}

/** Pays by the form of the page, as a browser without scripts. */
async function payOnPage(link: string, card: string): Promise<void> {
  const page = /name="page" value="([^"]+)"/.exec(await (await fetch(link)).text())?.[1] ?? ''
  const form = { link: String(link.split('?')[1]), page, number: card, expiry: '08/66', code: '111' }
  await fetch(`${address}/pos/pay`, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })
}

it('the first run of the README has commands of the quick start', () => {
  const first = commandsOf(read('../README.md'))
  expect(first).toHaveLength(6)
  expect(commands.filter((line) => first.includes(line))).toEqual(first)
})

describe('the quick start', () => {
  it('takes a payment, gives it back and hears of both, by the commands in their order', async () => {
    expect(otherPrograms).toEqual([])
    const shell = startShell()
    const linked = commands.findIndex((line) => line.startsWith('echo ')) + 1
    await type(shell, commands.slice(0, linked), 'waiting for events', '/pos?')
    const [link = ''] = /^http.*\/pos\?.*$/m.exec(shell.printed) ?? []
    await payOnPage(link, /card `([\d ]+)`/i.exec(quickStart)?.[1] ?? '')
    const events = ['transaction.created', 'transaction.captured', 'transaction.refunded']
    await type(shell, commands.slice(linked, -1), ...events, '\npaid ')
    const pay = commands.find((line) => line.includes('checkout.mjs')) ?? expect.fail('no line pays')
    await type(shell, [`${pay} decline`], '\nnot paid')
    const [, paid] = /\npaid ([0-9a-f]{24})\n/.exec(shell.printed) ?? []
    // The last command ends the receiver, which must have heard of both payments by then.
    await type(shell, [], `transaction.created ${paid}`, '\ntransaction.failed ')
    await type(shell, commands.slice(-1), 'npm start -- stop')
    shell.child.stdin?.end()
    expect(await once(shell.child, 'close')).toEqual([0, null])

    const lines = shell.printed.split(/\r?\n/)
    const [capture, refund] = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line).transaction)
    expect([capture.capturedAmount, refund.capturedAmount, refund.refundedAmount]).toEqual([1099, 1099, 500])
    const transactions = lines.filter((line) => line.startsWith('transaction.'))
    const refusals = transactions.filter((line) => /^transaction\.failed [0-9a-f]{24}$/.test(line))
    expect(refusals).toHaveLength(1)
    expect(transactions.sort()).toEqual(
      [...events.map((event) => `${event} ${capture.id}`), `transaction.created ${paid}`, ...refusals].sort(),
    )
    const [forged = ''] = /`(HTTP\/1.1 [^`]+)`/.exec(quickStart)?.slice(1) ?? []
    const [refused = ''] = /`(refused: [^`]+)`/.exec(quickStart)?.slice(1) ?? []
    expect(lines.filter((line) => line === forged || line === refused).sort()).toEqual([forged, refused])

    const [shown = ''] = examplesOf(quickStart, 'text')
    const steps = shown.trimEnd().split('\n').slice(0, -1)
    const [declined] = /`(not paid[^`]+)`/.exec(quickStart)?.slice(1) ?? []
    expect(lines.filter((line) => steps.includes(line) || /^(?:not )?paid/.test(line))).toEqual([
      ...steps,
      `paid ${paid}`,
      ...steps,
      declined,
    ])
  })

  it('receives each event once, and nothing that the secret of the webhook has not signed', async () => {
    const [reference = ''] = examplesOf(read('../../../docs/reference/payments.md'), 'js')
    expect(receiver).toContain(reference.slice(reference.indexOf('/**')))
    const body = JSON.stringify({ id: '1', type: 'transaction.captured', data: { transaction: { id: '2' } } })
    const secret = 'the secret of the webhook'
    const child = spawn(process.execPath, [join(folder, 'my-shop/receiver.mjs')], {
      env: { ...programEnvironment, WEBHOOK_SECRET: secret, PORT: port },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe('waiting for events')
    const deliver = async (secrets: readonly string[]) => {
      const signature = signDelivery(secrets, Math.floor(Date.now() / 1_000), body)
      const headers = secrets.length > 0 ? { 'x-signature': signature } : {}
      return (await fetch(`http://localhost:${port}/hook`, { method: 'POST', headers, body })).status
    }
    const statuses = [await deliver([secret]), await deliver([secret]), await deliver(['other']), await deliver([])]
    expect(statuses).toEqual([204, 204, 400, 400])
    child.kill()
    const printed: string[] = []
    for await (const line of lines) printed.push(line)
    const refused = 'refused: bad signature, or older than five minutes'
    expect(printed).toEqual(['transaction.captured 2', refused, refused])
  })
})
