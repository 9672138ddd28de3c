import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { fillDemo } from '../packages/stack/src/commands/demo.ts'
import { fillAuth } from '../packages/stack/src/demo/fill-auth.ts'
import { readStatus } from '../packages/stack/src/status/status-file.ts'
import { anyId } from '../packages/testing/src/any-text.ts'
import { type CommandServer, programEnvironment, startCommandServer } from '../packages/testing/src/command-server.ts'
import { freePort, portOf } from '../packages/testing/src/free-port.ts'
import {
  anyId as anyUserId,
  confirmedBody,
  emailIdentity,
  factorBody,
  userBody,
  anyTime as userTime,
} from '../services/auth/test/bodies.ts'
import { signDelivery } from '../services/payments/src/webhooks/webhook.ts'
import { shownCard, shownTransaction, trailEntry } from '../services/payments/test/bodies.ts'
import { examplesIn, hasStandIns } from './test/document-examples.ts'
import { describeShop } from './test/shop-journeys.ts'

const MailList = z.object({ messages: z.array(z.object({ id: z.int() })).nonempty() })
const Mail = z.object({ subject: z.string(), text: z.string() })
const Session = z.object({ access_token: z.string(), refresh_token: z.string() })

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'examples-'))
const running: ChildProcess[] = []
const env: Record<string, string | undefined> = { ...programEnvironment }
let server: CommandServer

interface Program {
  readonly child: ChildProcess
  /** The stdout and stderr so far. */
  readonly output: () => string
}

function run(...args: readonly string[]): Program {
  const child = spawn(process.execPath, args, { cwd: root, env })
  const chunks: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => chunks.push(text))
  running.push(child)
  return { child, output: () => chunks.join('') }
}

/** Runs a program of the repository to its end. */
const runToEnd = (file: string, ...args: readonly string[]) => server.run(join(root, file), args, { cwd: root, env })

/** Returns the first example in a language in a document. */
function exampleOf(document: string, language: string): string {
  return examplesOf(document, language)[0] ?? ''
}

function examplesOf(document: string, language: string): readonly string[] {
  return examplesIn(root, document)
    .filter((example) => example.language === language)
    .map(({ text }) => text)
}

/** Sends the request of a `curl` command to auth. Throws if it fails. */
async function callAuth(command: string): Promise<unknown> {
  const [, path, body] = /^curl "\$AUTH_URL([^"]*)".*?(?: -d '(.*)')?$/.exec(command) ?? []
  const header = / -H '([^:]+): ([^']+)'/.exec(command)
  const response = await fetch(`${env.AUTH_URL}${path}`, {
    headers: header ? { [String(header[1])]: String(header[2]) } : {},
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  expect([command, response.status]).toEqual([command, 200])
  return response.json()
}

/** Waits for the mail to an address and returns its code. */
async function codeOfMail(address: string): Promise<string> {
  return vi.waitFor(async () => {
    const list: unknown = await (await fetch(`${env.MAIL_URL}/messages?to=${address}`)).json()
    const { messages } = MailList.parse(list)
    const mail = await (await fetch(`${env.MAIL_URL}/messages/${messages[0]?.id}/text`)).text()
    return /\b\d{6}\b/.exec(mail)?.[0] ?? expect.fail('no code')
  }, 20_000)
}

beforeAll(async () => {
  // If the tests run as root, PostgreSQL runs as another user, who must be able to enter the folder.
  chmodSync(folder, 0o755)
  for (const name of [
    'AUTH_API',
    'PAYMENTS',
    'INVENTORY',
    'CONSOLE',
    'MAIL_SMTP',
    'MAIL_WEB',
    'TRESTLE_DATABASE',
    'TRESTLE_HOME',
  ]) {
    env[`${name}_PORT`] = String(await freePort())
  }
  for (const name of ['AUTH', 'PAYMENTS', 'INVENTORY', 'CONSOLE']) {
    env[`${name}_OTEL_EXPORTER_PROMETHEUS_PORT`] = String(await freePort())
  }
  env.TRESTLE_DATA_DIRECTORY = join(folder, 'data')
  env.TRESTLE_STATE_DIRECTORY = join(folder, 'state')
  env.AUTH_URL = `http://localhost:${env.AUTH_API_PORT}`
  env.MAIL_URL = `http://localhost:${env.MAIL_WEB_PORT}`
  env.PAYMENTS_URL = `http://localhost:${env.PAYMENTS_PORT}`
  env.INVENTORY_URL = `http://localhost:${env.INVENTORY_PORT}`
  const stack = run('packages/stack/src/main.ts')
  server = await startCommandServer()
  await vi.waitFor(() => expect(stack.output()).toContain('\nTrestle is ready\n'), { timeout: 280_000, interval: 200 })
}, 300_000)

afterAll(async () => {
  const living = running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  const ended = living.map((child) => once(child, 'close'))
  for (const child of living) child.kill('SIGTERM')
  await Promise.all([...ended, server.stop()])
  rmSync(folder, { recursive: true })
})

describe('examples/', () => {
  const endings: Readonly<Record<string, RegExp>> = {
    'create-merchant.ts': /\nlisted [0-9a-f]{24}: CORNER SHOP, EUR\n$/,
    'list-stock.ts':
      /: 7 on hand, 0 reserved, 7 available\nship: -3 on hand, -3 reserved\nreserve: 0 on hand, 3 reserved\nreceive: 10 on hand, 0 reserved\n$/,
    'sign-up.ts': /\nsession refreshed\nsigned out\n$/,
  }

  it('has a test in this file for each program, and README.md names them all', () => {
    expect(globSync('*.ts', { cwd: join(root, 'examples') }).sort()).toEqual(Object.keys(endings))
    const named = examplesOf('README.md', 'sh')
      .join('')
      .matchAll(/^npx node examples\/(\S+)/gm)
    expect([...named].map(([, file]) => file).sort()).toEqual([...Object.keys(endings), 'shop/server.ts'].sort())
    expect(exampleOf('examples/shop/README.md', 'sh')).toContain('npx node examples/shop/server.ts')
  })

  it.each(Object.entries(endings))('%s runs to its end', async (file, ending) => {
    expect(await runToEnd(`examples/${file}`)).toEqual({ status: 0, stdout: expect.stringMatching(ending), stderr: '' })
  })

  it('sign-up.ts reads the mail from Mailpit too, which compose starts', async () => {
    const catcher = String(env.MAIL_URL)
    const read = async (path: string) => (await fetch(catcher + path)).json()
    // Returns the members of Mailpit's API that the example reads.
    const mailpit = createServer(async ({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://mailpit')
      const id = /^\/api\/v1\/message\/caught-(\d+)$/.exec(pathname)?.[1]
      const to = /^to:"(.+)"$/.exec(searchParams.get('query') ?? '')?.[1]
      const mail = id === undefined ? undefined : Mail.parse(await read(`/messages/${id}`))
      const list =
        to === undefined
          ? []
          : z.object({ messages: z.array(z.object({ id: z.int() })) }).parse(await read(`/messages?to=${to}`)).messages
      const found = mail
        ? { Subject: mail.subject, Text: mail.text }
        : { messages: list.map((one) => ({ ID: `caught-${one.id}` })) }
      response.writeHead(pathname.startsWith('/api/v1/') ? 200 : 404).end(JSON.stringify(found))
    })
    await new Promise<void>((resolve) => mailpit.listen(0, '127.0.0.1', resolve))
    env.MAIL_URL = `http://127.0.0.1:${portOf(mailpit)}`
    const ended = await runToEnd('examples/sign-up.ts')
    env.MAIL_URL = catcher
    mailpit.close()
    expect(ended).toEqual({ status: 0, stdout: expect.stringMatching(/\nsigned out\n$/), stderr: '' })
  })
})

describeShop({ root, env, run, dataDirectory: join(folder, 'data') })

it('npm start -- --demo fills the services with a shop, and a second time changes nothing', async () => {
  const dataDirectory = join(folder, 'data')
  const status = readStatus({ dataDirectory }) ?? expect.fail('the stack does not run')
  const lines: string[] = []
  const fill = () => fillDemo({ status, root, dataDirectory, say: (line) => lines.push(line) })
  await fill()
  const said = lines.splice(0)
  const [, merchantId, key] = /merchant (\w{24}), key of its app: (\S+)$/m.exec(said.join('\n')) ?? []
  const payments = { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }
  const read = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(url, { headers })
    expect([url, answer.status]).toEqual([url, 200])
    return answer.text()
  }
  const snapshot = () => {
    const ofMerchant = `${env.PAYMENTS_URL}/merchants/${merchantId}`
    const filter = `filter[merchantId]=${merchantId}&limit=100`
    return Promise.all([
      read(`${ofMerchant}/transactions?limit=100`, payments),
      read(`${ofMerchant}/lines?limit=100`, payments),
      read(`${env.PAYMENTS_URL}/disputes?${filter}`, payments),
      read(`${env.PAYMENTS_URL}/frauds?${filter}`, payments),
      read(`${env.INVENTORY_URL}/movements?limit=500`),
      read(`${env.INVENTORY_URL}/reservations`),
      read(`${env.AUTH_URL}/admin/users?filter=nordhavn`, { authorization: `Bearer ${status.SERVICE_ROLE_KEY}` }),
    ])
  }
  const [transactions, ledger, disputes, frauds, movements, reservations, users] = await snapshot()
  const count = (text: string, part: string) => text.split(part).length - 1
  expect({
    captured: count(transactions, '"capture":true'),
    declined: count(transactions, '"successful":false'),
    payouts: count(ledger, '"payout":true'),
    disputes: ['open', 'won', 'lost'].map((state) => count(disputes, `"status":"${state}"`)),
    frauds: count(frauds, '"reason"'),
    deliveries: count(movements, '"reference":"demo-delivery"'),
    reservations: ['active', 'committed', 'released'].map((state) =>
      count(reservations, `"status":"${state}","reference":"order-`),
    ),
    users: count(users, '"role":"authenticated"'),
    signedIn: new Set(users.match(/"last_sign_in_at":"[^"]+","app_metadata"/g)).size,
    banned: count(users, '"banned_until"'),
    invited: count(users, '"invited_at"'),
    secondFactors: count(users, '"status":"verified"'),
  }).toEqual({
    captured: 25,
    declined: 1,
    payouts: 3,
    disputes: [1, 1, 1],
    frauds: 1,
    deliveries: 12,
    reservations: [2, 2, 1],
    users: 10,
    signedIn: 8,
    banned: 1,
    invited: 1,
    secondFactors: 1,
  })
  await fill()
  expect(lines).toEqual(said)
  expect(await snapshot()).toEqual([transactions, ledger, disputes, frauds, movements, reservations, users])
})

it('npm start -- --demo replaces an authenticator app whose secret or proof an earlier demo did not store', async () => {
  const status = readStatus({ dataDirectory: join(folder, 'data') }) ?? expect.fail('the stack does not run')
  const auth = { url: String(status.AUTH_URL), serviceKey: String(status.SERVICE_ROLE_KEY) }
  const headers = { authorization: `Bearer ${auth.serviceKey}`, 'content-type': 'application/json' }
  const Users = z.object({ users: z.array(z.object({ id: z.string() })).length(1) })
  const said = await fillAuth(auth)
  const found = await fetch(`${auth.url}/admin/users?filter=anton@nordhavn.example`, { headers })
  const user = `${auth.url}/admin/users/${Users.parse(await found.json()).users[0]?.id}`
  const body = JSON.stringify({ app_metadata: { demo_totp_uri: null } })
  expect((await fetch(user, { method: 'PUT', headers, body })).status).toBe(200)
  const completed = await fillAuth(auth)
  const withoutSecret = (lines: readonly string[]) => lines.map((line) => line.replace(/secret: [A-Z2-7]{32}$/, ''))
  expect(completed).not.toEqual(said)
  expect(withoutSecret(completed)).toEqual(withoutSecret(said))
  expect(await (await fetch(`${user}/factors`, { headers })).json()).toEqual([
    factorBody({ friendly_name: 'Phone of Anton', last_challenged_at: userTime }),
  ])
  expect(await fillAuth(auth)).toEqual(completed)
})

it('runs the first run of the README of auth, from a sign-up to a refresh', async () => {
  const commands = examplesOf('services/auth/README.md', 'sh').join('').trim().split('\n')
  const [readAddresses, signUp, verify, signIn, readUser, refresh, ...others] = commands.map(String)
  expect(others).toEqual([])
  const status = String(readAddresses).replace('npm -s start --', `'${process.execPath}' packages/stack/src/main.ts`)
  const shell = `${status}; echo "$AUTH_URL $MAIL_URL $SERVICE_ROLE_KEY"`
  const read = spawn('bash', ['--norc', '-euc', shell], { cwd: root, env: { ...env, AUTH_URL: '', MAIL_URL: '' } })
  expect(await text(read.stdout)).toMatch(new RegExp(`^${env.AUTH_URL} ${env.MAIL_URL} \\S+\n$`))
  const email = 'ada@example.com'
  const sent = { confirmation_sent_at: userTime }
  expect(await callAuth(String(signUp))).toEqual(
    userBody({ email, identities: [emailIdentity(anyUserId, email)], ...sent }),
  )
  await callAuth(String(verify).replace('<code>', await codeOfMail(email)))
  const session = Session.parse(await callAuth(String(signIn)))
  expect(await callAuth(String(readUser).replace('<access_token>', session.access_token))).toEqual(
    confirmedBody(anyUserId, email, { ...sent, last_sign_in_at: userTime }),
  )
  await callAuth(String(refresh).replace('<refresh_token>', session.refresh_token))
})

const seed = JSON.parse(exampleOf('services/payments/README.md', 'json'))
let seeded: Promise<{ readonly status: unknown }> | undefined

/** Seeds the example of the payments README, once for all tests. */
function seedPayments(): Promise<{ readonly status: unknown }> {
  const file = join(folder, 'seed.json')
  writeFileSync(file, JSON.stringify(seed))
  Object.assign(env, parseEnv(readFileSync(join(folder, 'data', 'payments.env'), 'utf8')))
  env.PAYMENTS_ALLOW_SEED = 'yes'
  seeded ??= runToEnd('services/payments/src/main.ts', 'seed', file)
  return seeded
}

it('seeds the example of the README of payments, which its key then reads', async () => {
  expect(JSON.parse(exampleOf('docs/reference/payments.md', 'json'))).toEqual(seed)
  expect((await seedPayments()).status).toBe(0)
  const [{ key }] = seed.apps
  const [{ id, merchantId, amount, currency }] = seed.transactions
  const authorization = `Basic ${Buffer.from(`:${key}`).toString('base64')}`
  const answer = await fetch(`${env.PAYMENTS_URL}/transactions/${id}`, { headers: { authorization } })
  const descriptor = 'Coffee'
  const exchange = { rate: '7.456', date: '2024-03-01' }
  const fee = { flat: 186, rate: 60 }
  const entry = { descriptor, lineId: anyId }
  const trail = [
    trailEntry({ amount: 600, balance: 4_228, capture: true, fee, exchange, ...entry }),
    trailEntry({ amount: 100, balance: -746, refund: true, ...entry }),
  ]
  const members = { id, merchantId, amount, currency, descriptor, card: shownCard({ bin: '410000' }), trail }
  const amounts = { pendingAmount: 400, capturedAmount: 600, refundedAmount: 100 }
  expect(await answer.json()).toEqual({ transaction: shownTransaction({ ...members, ...amounts }) })
})

it('proves a delivery by the example of the reference of payments', async () => {
  const [secret, body, now] = ['b'.repeat(43), '{"id":"event"}', Math.floor(Date.now() / 1_000)]
  const file = join(folder, 'is-genuine.mjs')
  writeFileSync(file, `${exampleOf('docs/reference/payments.md', 'js')}\nexport { isGenuine }\n`)
  const IsGenuine = z.custom<(header: string | undefined, body: string | Buffer, secret: string) => boolean>(
    (value) => typeof value === 'function',
  )
  const { isGenuine } = z.object({ isGenuine: IsGenuine }).parse(await import(file))
  const judged = (header: string | undefined, bytes: string | Buffer = body) => isGenuine(header, bytes, secret)
  const good = signDelivery([secret], now, body)
  expect([good, signDelivery(['other', secret], now, body)].map((header) => judged(header))).toEqual([true, true])
  expect(judged(good, Buffer.from(body))).toBe(true)
  expect(judged(good, `${body} `)).toBe(false)
  const late = signDelivery([secret], now - 301, body)
  const foreign = signDelivery(['other'], now, body)
  const broken = [undefined, '', 'v1=', `t=${now}`, `t=${now},v1=`, good.replace('t=', 't= '), good.slice(0, -1)]
  for (const header of [late, foreign, ...broken]) expect([header, judged(header)]).toEqual([header, false])
})

it('runs one service alone on a database of its own, as README.md says', async () => {
  const alone = examplesOf('README.md', 'sh').find((text) => text.includes('createdb')) ?? ''
  const { DATABASE_URL = '' } = parseEnv(readFileSync(join(folder, 'data', 'inventory.env'), 'utf8'))
  const INVENTORY_PORT = String(await freePort())
  const INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT = String(await freePort())
  const node = `'${process.execPath}' '${root}`
  const programs = `createdb() { ${node}/scripts/test/stand-in-psql.ts' "$SERVER" -c "CREATE DATABASE $1"; }
    npm() { exec ${node}/services/inventory/src/main.ts' "\${@:5}"; }\n`
  const script = alone.replace('postgres://localhost/shop', DATABASE_URL.replace(/[^/]+$/, 'shop'))
  const own = { INVENTORY_PORT, INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT, SERVER: DATABASE_URL }
  const child = spawn('bash', ['--norc', '-euc', programs + script], {
    cwd: folder,
    env: { ...env, ...own },
    stdio: 'ignore',
  })
  running.push(child)
  const statusOf = async () => (await fetch(`http://127.0.0.1:${INVENTORY_PORT}/ready`)).status
  await vi.waitFor(async () => expect(await statusOf()).toBe(200), { timeout: 60_000, interval: 100 })
  const ended = once(child, 'close')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

describe('docs/runbooks/', () => {
  const services = ['auth', 'payments', 'inventory']
  const programs = [
    // Sends the command to the command server. The first line of the answer has the exit status and the length of stderr.
    `run() {
      local status length errors
      exec 3<> "/dev/tcp/127.0.0.1/$COMMAND_PORT"
      { printf '%s\\0' "$PWD" "$1" $(($# - 1)) "\${@:2}"; env -0; printf '\\0'; } >&3
      read -r status length <&3
      IFS= LC_ALL=C read -r -d '' -n "$length" errors <&3
      printf '%s' "$errors" >&2
      cat <&3
      return "$status"
    }`,
    ...services.map((name) => `${name}() { run '${root}/services/${name}/src/main.ts' "$@"; }`),
    `psql() { '${process.execPath}' '${root}/scripts/test/stand-in-psql.ts' "$@"; }`,
    // The stack's database address names its superuser.
    'runuser() { psql "$DATABASE_URL"; }',
  ]

  /** The programs use the settings of the stack, and payments has a card in its vault. */
  beforeAll(async () => {
    await seedPayments()
    env.COMMAND_PORT = String(server.port)
    for (const name of services) {
      Object.assign(env, parseEnv(readFileSync(join(folder, 'data', `${name}.env`), 'utf8')))
    }
  })

  /** Runs a script. @returns its stdout */
  async function inShell(script: string): Promise<string> {
    const { PATH = '' } = process.env
    const shellEnv = { ...env, PATH: `${dirname(process.execPath)}:${PATH}` }
    const child = spawn('bash', ['-euc', [...programs, script].join('\n')], { cwd: folder, env: shellEnv })
    const [output, errors] = [child.stdout, child.stderr].map((stream) => text(stream))
    const [status] = await once(child, 'close')
    expect([script, status, await errors]).toEqual([script, 0, expect.any(String)])
    return output ?? ''
  }

  /** Returns the output in a runbook as a pattern. Its numbers match any numbers. */
  const said = (name: string, index: number): string => {
    const lines = examplesOf(`docs/runbooks/${name}`, '')[index] ?? ''
    return lines.replaceAll(/[().]/g, String.raw`\$&`).replaceAll(/\d+/g, String.raw`\d+`).replaceAll(/ {2,}/g, ' {2,}')
  }

  const drift = said('upgrade.md', 0)
  const sums = String.raw`\d+ merchants, \d+ links, 0 violations`
  const verified = `${sums}\n`
  /** The output of a runbook's scripts on the stack, by number. */
  const outputs: Readonly<Record<string, Readonly<Record<number, string>>>> = {
    'changed-rows.md': {
      1: String.raw`${sums}, \d+ merchants compared with the list\n`,
      2: String.raw`created\|table_name\|login\n(?:[^|]+\|merchants\|trestle\n)+`,
      3: String.raw`record_states\n\n`,
    },
    'key-rotation.md': {
      1: said('key-rotation.md', 0),
      2: `${said('key-rotation.md', 1)}\\S+ verifies until .+\n`,
      3: String.raw`[\w-]{43}\n`,
      4: String.raw`[\w-]+\.[\w-]+\.[\w-]+\n`,
      5: 'every secret is encrypted with key [0-9a-f]{16}\n',
      6: said('key-rotation.md', 7),
    },
    'one-machine.md': { 2: 'machine\nmachine_auth\nmachine_inventory\nmachine_operators\nmachine_payments\n' },
    'scaling-out.md': {
      4: String.raw`"trestle" "SCRAM-SHA-256\$.+"\n`,
      5: '',
    },
    'upgrade.md': {
      3: '(?:-- nothing to do\n){3}',
      4: '(?:nothing to do\n){3}',
      6: `(?:${drift}(?:(?:ok|note)  .+\n)+){3}${verified}`,
    },
    'rollback.md': {
      2: String.raw`(?:applied \S+ \d{4}-\S+\n)+functions of release \S+ are installed\n`,
      3: said('rollback.md', 1),
      5: said('rollback.md', 3),
      6: verified,
    },
  }
  const scripts = Object.entries(outputs).flatMap(([name, wanted]) =>
    Object.entries(wanted).map(([number, output]) => [name, Number(number), output] as const),
  )
  const scriptOf = (name: string, number: number) => examplesOf(`docs/runbooks/${name}`, 'sh')[number - 1] ?? ''

  /** The steps before a script in the runbook. They print nothing. */
  const preparations: Readonly<Record<string, string>> = {
    // `restore.md` says how to write the heads with which a ledger is compared.
    'changed-rows.md 1': 'payments ledger verify --head > heads.txt\n',
    // Simulates that ten minutes have passed since the key was added.
    'key-rotation.md 2': `auth keys add --kid 2027-11 > added.txt
      psql "$DATABASE_URL" -c "UPDATE auth.signing_keys SET created_at = created_at - interval '10 minutes' WHERE kid = '2027-11'"
    `,
  }

  const listLogins = `psql "$DATABASE_URL" -Atc "SELECT rolname FROM pg_roles WHERE rolname LIKE 'machine%' AND rolcanlogin
    AND has_database_privilege(rolname, 'machine', 'CONNECT') ORDER BY rolname"`

  /** Replaces the example names in a runbook by objects of the stack. */
  function replaceNames(name: string, script: string): string {
    if (name === 'changed-rows.md')
      return script.replaceAll('6b02f1d70f20002d7e6831fa', seed.transactions[0].merchantId)
    if (name === 'key-rotation.md') return script.replace('promote 2026', 'promote 2027')
    if (name !== 'one-machine.md') return script
    // The stack already has a database and a superuser named `trestle`.
    return script.replaceAll(/\btrestle/g, 'machine').replaceAll(/<(\w+)>/g, '$1') + listLogins
  }

  it('has a test in this file for each script that does not run with stand-ins', () => {
    const all = globSync('docs/runbooks/*.md', { cwd: root }).flatMap((document) => examplesIn(root, document))
    const runnable = all.filter((example) => example.language === 'sh' && !hasStandIns(example))
    expect(runnable.map(({ document, number }) => `${basename(document)} ${number}`).sort()).toEqual(
      scripts.map(([name, number]) => `${name} ${number}`).sort(),
    )
  })

  it.each(scripts)(
    '%s: example %d prints what it should',
    async (name, number, output) => {
      const before = preparations[`${name} ${number}`] ?? ''
      expect(await inShell(before + replaceNames(name, scriptOf(name, number)))).toMatch(new RegExp(`^${output}$`))
    },
    60_000,
  )

  it('key-rotation.md: the token opens the admin endpoints', async () => {
    const token = (await inShell(scriptOf('key-rotation.md', 4))).trim()
    const answer = await fetch(`${env.AUTH_URL}/admin/users`, { headers: { authorization: `Bearer ${token}` } })
    const { users } = z.object({ users: z.array(z.unknown()) }).parse(await answer.json())
    expect([answer.status, users.length]).toEqual([200, Number(answer.headers.get('x-total-count'))])
  })
})
